//! What a table is made of, and the SQL that makes it. The storage engine is left to the server.

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    /// SQL type, with `NOT NULL` and the like behind it where the schema says so.
    pub sql_type: &'static str,
}

impl Column {
    /// Whether a value stands between quotes in SQL.
    pub fn is_quoted(&self) -> bool {
        const NUMBERS: [&str; 5] = ["int", "tinyint", "smallint", "double", "decimal"];
        let word = self.sql_type.split([' ', '(']).next().unwrap_or_default();
        !NUMBERS.contains(&word)
    }
}

#[derive(Debug)]
pub struct Definition {
    pub name: &'static str,
    pub columns: &'static [Column],
    pub primary_key: &'static [&'static str],
    /// Columns that have an index of their own, made after the rows are in.
    pub indexed: &'static [&'static str],
    /// Columns of a unique index besides the primary key; empty for none.
    pub unique: &'static [&'static str],
    pub fulltext: &'static [&'static str],
    /// References to other tables, made when all of them are filled.
    pub references: &'static [Reference],
}

/// A foreign key: a column that refers to the one of the same name in another table.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub column: &'static str,
    pub table: &'static str,
    /// `CASCADE` or `SET NULL`.
    pub on_delete: &'static str,
}

impl Definition {
    /// A table without columns and keys, to begin with.
    pub(super) const NEW: Self = Self {
        name: "",
        columns: &[],
        primary_key: &[],
        indexed: &[],
        unique: &[],
        fulltext: &[],
        references: &[],
    };
}

/// The tables of a data set: each by its name, the lists that [`Definition`] has beside columns, and its columns with their types.
macro_rules! tables {
    ($(#[$doc:meta])* $tables:ident $($(#[$own:meta])* $table:ident = $name:literal $(, $list:ident: $all:expr)*; {
        $($column:ident $sql_type:literal),+ $(,)?
    })+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $tables {
            $($(#[$own])* $table,)+
        }

        impl $tables {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$table),+];

            pub fn definition(self) -> &'static $crate::data::schema::Definition {
                use $crate::data::schema::{Column, Definition};
                match self {
                    $(Self::$table => {
                        const DEFINITION: Definition = Definition {
                            name: $name,
                            columns: &[$(Column { name: stringify!($column), sql_type: $sql_type }),+],
                            $($list: &$all,)*
                            ..Definition::NEW
                        };
                        &DEFINITION
                    })+
                }
            }

            pub fn name(self) -> &'static str {
                self.definition().name
            }
        }
    };
}
pub(super) use tables;

/// Whether the secondary indexes are part of CREATE TABLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// Made by [`Definition::create_indexes`] when the rows are in.
    Later,
    /// Part of the table from the start, as a dump has them. Full-text indexes and references are not.
    Inline,
}

impl Definition {
    /// CREATE TABLE, in the session's default database.
    pub fn create_table(&self, indexes: Indexes) -> String {
        let mut parts: Vec<String> = self.columns.iter().map(|column| self.column(column)).collect();
        if !self.primary_key.is_empty() {
            parts.push(format!("  PRIMARY KEY (`{}`)", self.primary_key.join("`,`")));
        }
        if indexes == Indexes::Inline {
            parts.extend(self.keys().map(|key| format!("  {key}")));
        }
        format!("CREATE TABLE `{}` (\n{}\n)", self.name, parts.join(",\n"))
    }

    fn column(&self, column: &Column) -> String {
        let Column { name, sql_type } = column;
        let null = match *sql_type {
            "timestamp" => " NULL DEFAULT NULL",
            _ if self.primary_key.contains(name) => " NOT NULL",
            _ => "",
        };
        format!("  `{name}` {sql_type}{null}")
    }

    fn keys(&self) -> impl Iterator<Item = String> {
        let unique = (!self.unique.is_empty())
            .then(|| format!("UNIQUE KEY `{}` (`{}`)", self.unique[0], self.unique.join("`,`")));
        unique.into_iter().chain(self.indexed.iter().map(|column| format!("KEY `{column}` (`{column}`)")))
    }

    /// One ALTER TABLE that adds all secondary indexes but the full-text ones; `None` where there are none.
    pub fn create_indexes(&self) -> Option<String> {
        let keys: Vec<_> = self.keys().map(|key| format!("ADD {key}")).collect();
        (!keys.is_empty()).then(|| format!("ALTER TABLE `{}` {}", self.name, keys.join(", ")))
    }

    /// The ALTER TABLE that adds each full-text index: InnoDB makes one at a time.
    pub fn create_fulltext(&self) -> impl Iterator<Item = String> {
        self.fulltext.iter().map(move |column| {
            format!("ALTER TABLE `{}` ADD FULLTEXT KEY `{column}` (`{column}`)", self.name)
        })
    }

    pub fn create_references(&self) -> Option<String> {
        let own = self.name;
        let add = |Reference { column, table, on_delete }: &Reference| {
            format!(
                "ADD CONSTRAINT `FK_{own}_{column}` FOREIGN KEY (`{column}`) REFERENCES `{table}` (`{column}`) \
                 ON DELETE {on_delete}"
            )
        };
        let list: Vec<_> = self.references.iter().map(add).collect();
        (!list.is_empty()).then(|| format!("ALTER TABLE `{own}` {}", list.join(", ")))
    }

    /// Names of the columns for a column list, between backquotes.
    pub fn column_list(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|column| format!("`{}`", column.name)).collect();
        names.join(",")
    }

    /// Writes a row, fields between tabs and without line end, as `(1,'text',...)`.
    pub fn sql_values(&self, row: &[u8], out: &mut Vec<u8>) {
        let mut separator = b'(';
        for (field, column) in row.split(|&byte| byte == b'\t').zip(self.columns) {
            out.push(separator);
            separator = b',';
            let quote: &[u8] = if column.is_quoted() { b"'" } else { b"" };
            out.extend_from_slice(quote);
            out.extend_from_slice(field);
            out.extend_from_slice(quote);
        }
        out.push(b')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_without_quotes() {
        for (sql_type, quoted) in [
            ("int", false),
            ("int NOT NULL AUTO_INCREMENT", false),
            ("decimal(12,2)", false),
            ("tinyint NOT NULL", false),
            ("varchar(50) NOT NULL", true),
            ("date", true),
        ] {
            assert_eq!(Column { name: "c", sql_type }.is_quoted(), quoted, "{sql_type}");
        }
    }
}
