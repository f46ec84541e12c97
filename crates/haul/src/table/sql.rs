//! Statements that make a table, add its indexes, and load lines into it.

use super::{Engine, Table, literal, quoted};
use evenkeel_wire::record::Charset;
use std::fmt::Write;

impl Table {
    pub fn create_sql(&self) -> String {
        self.create(&self.indexes, true)
    }

    /// Makes it without further indexes, to add them once the rows are in ([`Self::add_indexes_sql`]). The primary key of an
    /// InnoDB table is how it is stored, and is there from the beginning; that of the others comes after.
    pub fn create_bare_sql(&self) -> String {
        self.create(&[], self.keeps_primary())
    }

    /// Adds what [`Self::create_bare_sql`] left out; `None` where that is nothing.
    pub fn add_indexes_sql(&self) -> Option<String> {
        let mut parts: Vec<String> = self.indexes.iter().map(|index| format!("ADD {}", key(index))).collect();
        if !self.keeps_primary() && !self.primary.is_empty() {
            parts.insert(0, format!("ADD {}", primary(&self.primary)));
        }
        (!parts.is_empty()).then(|| format!("ALTER TABLE {} {}", quoted(&self.name), parts.join(", ")))
    }

    fn keeps_primary(&self) -> bool {
        self.engine == Engine::InnoDb
    }

    fn create(&self, indexes: &[Vec<String>], with_primary: bool) -> String {
        let charset = charset(self.charset);
        // Compares byte by byte, as the search for records that come twice does.
        let collation = format!("{charset}_bin");
        let mut parts: Vec<String> = Vec::new();
        for column in &self.columns {
            let mut part = format!("  {} {}", quoted(&column.name), column.column_type);
            if column.is_text() {
                let _ = write!(part, " CHARACTER SET {charset} COLLATE {collation}");
            }
            part.push_str(if column.null { " NULL" } else { " NOT NULL" });
            parts.push(part);
        }
        if with_primary && !self.primary.is_empty() {
            parts.push(format!("  {}", primary(&self.primary)));
        }
        parts.extend(indexes.iter().map(|index| format!("  {}", key(index))));
        let more = if self.engine == Engine::Aria { " TRANSACTIONAL=0" } else { "" };
        format!(
            "CREATE TABLE {} (\n{}\n) ENGINE={}{more} DEFAULT CHARACTER SET {charset} COLLATE {collation}",
            quoted(&self.name),
            parts.join(",\n"),
            self.engine.name()
        )
    }

    /// Loads lines as the converter writes them. Values stand in hexadecimal digits, which mean the same in all SQL modes.
    pub fn load_sql(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        format!(
            "LOAD DATA LOCAL INFILE 'records' INTO TABLE {} CHARACTER SET {} \
             FIELDS TERMINATED BY {} ESCAPED BY 0x5c LINES TERMINATED BY 0x0a ({})",
            quoted(&self.name),
            charset(self.charset),
            literal(&[self.delimiter]),
            columns.join(", ")
        )
    }
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

fn primary(columns: &[String]) -> String {
    format!("PRIMARY KEY ({})", list(columns))
}

fn key(columns: &[String]) -> String {
    format!("INDEX ({})", list(columns))
}

fn charset(charset: Charset) -> &'static str {
    match charset {
        Charset::Ascii => "ascii",
        Charset::Latin1 => "latin1",
        Charset::Utf8 => "utf8mb4",
    }
}
