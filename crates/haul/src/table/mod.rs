//! Tables for the records of a layout.
//!
//! [`Table::of`] gives each field that is kept a column wide enough for all that the field can hold, [`Table::create_sql`] says how
//! to make the table, and [`Table::load_sql`] how its lines are loaded. A table that is there already is held against the layout
//! by [`Found::check`].

mod found;
mod sql;
mod triggers;

use crate::{Refused, refused};
pub use evenkeel_site::server::{literal, quoted};
use evenkeel_wire::record::{Blank, Charset, Field, Kind, Layout};
pub use found::{Found, FoundColumn};
pub(crate) use found::{folded, with_timestamps};
pub use triggers::Trigger;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    InnoDb,
    MyIsam,
    Aria,
}

impl Engine {
    /// As the server writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InnoDb => "InnoDB",
            Self::MyIsam => "MyISAM",
            Self::Aria => "Aria",
        }
    }

    /// By the server's word for it; `None` of any other engine.
    pub fn of(name: &str) -> Option<Self> {
        [Self::InnoDb, Self::MyIsam, Self::Aria]
            .into_iter()
            .find(|each| each.name().eq_ignore_ascii_case(name))
    }

    /// Whether a statement that was cut leaves nothing behind.
    pub fn has_transactions(self) -> bool {
        self == Self::InnoDb
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub primary: Vec<String>,
    pub indexes: Vec<Vec<String>>,
    pub charset: Charset,
    pub engine: Engine,
    pub delimiter: u8,
}

impl Table {
    pub fn of(
        layout: &Layout,
        index: usize,
        name: &str,
        engine: Engine,
        indexes: &[Vec<String>],
    ) -> Result<Self, Refused> {
        let of = &layout.types()[index];
        let columns: Vec<_> = of.fields.iter().filter(|field| field.kept).map(Column::of).collect();
        check_names(name, &columns)?;
        let key = of.key.iter().filter_map(|index| of.fields.get(*index));
        if let Some(skipped) = key.clone().find(|field| !field.kept) {
            return Err(refused(
                format!("the key names `{}`, which is skipped and becomes no column", skipped.name),
                "take `skip` from that field, or the field from the key",
            ));
        }
        let is_null = |field: &Field| field.blank == Blank::Null;
        let names: Vec<String> = key.clone().map(|field| field.name.clone()).collect();
        let mut indexes = indexes.to_vec();
        let primary = match key.into_iter().any(is_null) {
            true => {
                indexes.insert(0, names);
                Vec::new()
            }
            false => names,
        };
        let (charset, delimiter) = (layout.charset(), layout.delimiter());
        let table = Self { name: name.to_owned(), columns, primary, indexes, charset, engine, delimiter };
        let there = |name: &&String| table.columns.iter().any(|column| column.name == **name);
        match table.indexes.iter().flatten().find(|name| !there(name)) {
            Some(name) => Err(refused(
                format!("an index names `{name}`, and no column has that name"),
                "name columns of the layout, as --index calling,start",
            )),
            None => Ok(table),
        }
    }
}

/// Servers look at no difference between small and large letters in the names of columns.
fn check_names(table: &str, columns: &[Column]) -> Result<(), Refused> {
    const HINT: &str = "rename it in the layout, or by --table";
    let names = columns.iter().map(|column| column.name.as_str()).chain([table]);
    if let Some(bad) = names.into_iter().find(|name| !can_be(name)) {
        let what = "is no name of a table or column: 1 to 64 letters, none of them a control character, and no space at the end";
        return Err(refused(format!("{bad:?} {what}"), HINT));
    }
    let mut seen = std::collections::BTreeMap::new();
    for column in columns {
        if let Some(first) = seen.insert(column.name.to_lowercase(), &column.name) {
            let (first, second) = (first, &column.name);
            let what = format!(
                "columns `{first}` and `{second}` have the same name for the server, which ignores case"
            );
            return Err(refused(what, HINT));
        }
    }
    Ok(())
}

// What servers take as a name.

const LONGEST: usize = 64;

/// Whether servers take it as the name of a table or column.
fn can_be(name: &str) -> bool {
    let within = (1..=LONGEST).contains(&name.chars().count());
    within && !name.ends_with(' ') && !name.chars().any(|letter| letter.is_control() || letter > '\u{ffff}')
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub width: usize,
    pub kind: Kind,
    /// As `VARCHAR(15)`.
    pub column_type: String,
    /// Whether it may be NULL: where a blank field is.
    pub null: bool,
}

const VARCHAR: usize = 1000;
const TEXT: usize = 65_535;
/// Digits of a DECIMAL at most, and those behind the point.
const DIGITS: (usize, usize) = (65, 30);
/// Bytes of an instant; a day has eight.
const INSTANT: usize = 14;

impl Column {
    /// Of a field: wide enough for all that it can hold.
    fn of(field: &Field) -> Self {
        let (name, width, kind) = (field.name.clone(), field.most, field.kind);
        Self { name, width, kind, column_type: column_type(field), null: field.blank == Blank::Null }
    }

    /// Whether it stores text, which has a character set.
    pub fn is_text(&self) -> bool {
        self.column_type.starts_with("VARCHAR") || self.column_type.ends_with("TEXT")
    }
}

fn column_type(field: &Field) -> String {
    match (field.kind, field.most) {
        // No number and no instant is an empty text.
        (Kind::Text, width) => text(width),
        (Kind::Scaled(scale), width) if field.blank == Blank::Empty => text(width + scale as usize + 2),
        (_, width) if field.blank == Blank::Empty => text(width),
        (Kind::Integer, 1..=2) => "TINYINT".to_owned(),
        (Kind::Integer, 3..=4) => "SMALLINT".to_owned(),
        (Kind::Integer, 5..=6) => "MEDIUMINT".to_owned(),
        (Kind::Integer, 7..=9) => "INT".to_owned(),
        (Kind::Integer, 10..=18) => "BIGINT".to_owned(),
        (Kind::Integer, width) if width <= DIGITS.0 => format!("DECIMAL({width},0)"),
        (Kind::Integer, width) => text(width),
        (Kind::Decimal, width) => decimal(width),
        (Kind::Scaled(scale), width) if width <= DIGITS.0 => {
            format!("DECIMAL({},{scale})", width.max(scale as usize))
        }
        (Kind::Scaled(_), width) => text(width + 1),
        (Kind::Time, width) if width < INSTANT => "DATE".to_owned(),
        (Kind::Time, _) => "DATETIME".to_owned(),
    }
}

fn text(width: usize) -> String {
    match width {
        width if width <= VARCHAR => format!("VARCHAR({width})"),
        width if width <= TEXT => "TEXT".to_owned(),
        _ => "MEDIUMTEXT".to_owned(),
    }
}

/// The point may stand anywhere, so that as many digits can be behind it as before it.
fn decimal(width: usize) -> String {
    let behind = (width - 1).min(DIGITS.1);
    match width + behind {
        digits if digits <= DIGITS.0 => format!("DECIMAL({digits},{behind})"),
        _ => text(width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

    fn of(text: &str) -> Layout {
        layout::parse(text).unwrap().layout
    }

    const CALLS: &str = "charset = 'latin1'\nkey = ['seq']\n[[field]]\nname = 'seq'\nwidth = 10\ntype = 'integer'\n\
    [[field]]\nname = 'who`s'\nwidth = 15\n[[field]]\nname = 'at'\nwidth = 14\ntype = 'time'\n\
    [[field]]\nname = 'day'\nwidth = 8\ntype = 'time'\nblank = 'refuse'\n[[field]]\nname = 'amount'\nwidth = 5\ntype = 'decimal'\n\
    [[field]]\nname = 'rest'\nwidth = 3\nskip = true\n[[field]]\nname = 'cause'\nwidth = 3\ntype = 'integer'\nblank = 'empty'\n";

    fn calls(engine: Engine) -> Table {
        let index = vec![vec!["at".to_owned(), "day".to_owned()]];
        Table::of(&of(CALLS), 0, "calls", engine, &index).unwrap()
    }

    #[test]
    fn each_field_that_is_kept_has_a_column_that_holds_all_that_can_stand_in_it() {
        assert_eq!(
            calls(Engine::InnoDb).create_sql(),
            "CREATE TABLE `calls` (\n  `seq` BIGINT NOT NULL,\n  \
         `who``s` VARCHAR(15) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,\n  `at` DATETIME NULL,\n  `day` DATE NOT NULL,\n  \
         `amount` DECIMAL(9,4) NULL,\n  `cause` VARCHAR(3) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,\n  \
         PRIMARY KEY (`seq`),\n  INDEX (`at`, `day`)\n) ENGINE=InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin"
        );
    }

    #[test]
    fn indexes_that_come_after_are_those_that_were_left_out() {
        let innodb = calls(Engine::InnoDb);
        assert!(
            innodb.create_bare_sql().contains("PRIMARY KEY") && !innodb.create_bare_sql().contains("INDEX")
        );
        assert_eq!(innodb.add_indexes_sql().unwrap(), "ALTER TABLE `calls` ADD INDEX (`at`, `day`)");
        let aria = calls(Engine::Aria);
        assert!(
            !aria.create_bare_sql().contains("KEY") && aria.create_bare_sql().contains("TRANSACTIONAL=0")
        );
        assert_eq!(
            aria.add_indexes_sql().unwrap(),
            "ALTER TABLE `calls` ADD PRIMARY KEY (`seq`), ADD INDEX (`at`, `day`)"
        );
    }

    #[test]
    fn a_key_that_may_be_null_is_an_index_and_an_index_over_nothing_is_refused() {
        let layout = of(&CALLS.replace("key = ['seq']", "key = ['at']"));
        let nullable =
            of(&CALLS.replacen("'time'\n", "'time'\nblank = 'null'\n", 1).replace("['seq']", "['at']"));
        assert_eq!(Table::of(&layout, 0, "t", Engine::InnoDb, &[]).unwrap().primary, ["at"]);
        let table = Table::of(&nullable, 0, "t", Engine::InnoDb, &[]).unwrap();
        assert_eq!((table.primary.len(), &table.indexes[0][0]), (0, &"at".to_owned()));
        let wrong = Table::of(&layout, 0, "t", Engine::InnoDb, &[vec!["nobody".to_owned()]]);
        assert!(wrong.unwrap_err().what.contains("an index names `nobody`"));
        let blank = Table::of(&layout, 0, "t ", Engine::InnoDb, &[]);
        assert!(blank.unwrap_err().what.contains("is no name of a table"));
    }

    fn column(
        name: &str,
        data_type: &str,
        characters: Option<u64>,
        digits: Option<(u64, u64)>,
    ) -> FoundColumn {
        FoundColumn {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            full_type: data_type.to_uppercase(),
            characters,
            digits,
            charset: characters.map(|_| "latin1".to_owned()),
            null: true,
            fills_itself: true,
            is_generated: false,
        }
    }

    fn found() -> Found {
        let columns = vec![
            column("SEQ", "bigint", None, Some((19, 0))),
            column("who`s", "varchar", Some(15), None),
            column("at", "datetime", None, None),
            column("day", "date", None, None),
            column("amount", "decimal", None, Some((6, 2))),
            column("cause", "char", Some(3), None),
            column("stored", "timestamp", None, None),
        ];
        Found {
            name: "calls".to_owned(),
            kind: "BASE TABLE".to_owned(),
            engine: "MyISAM".to_owned(),
            columns,
        }
    }

    #[test]
    fn a_table_that_is_there_is_taken_unless_something_does_not_fit_which_is_named() {
        let table = calls(Engine::InnoDb);
        assert_eq!(found().check(&table), Ok(Engine::MyIsam));
        let problem = |change: &dyn Fn(&mut Found)| {
            let mut found = found();
            change(&mut found);
            found.check(&table).unwrap_err().to_string()
        };
        let narrow = problem(&|found| found.columns[1].characters = Some(14));
        assert_eq!(narrow, "field who`s has 15 bytes, and column calls.who`s is VARCHAR: it is too narrow");
        assert!(problem(&|found| found.columns[0].data_type = "int".to_owned()).contains("too large"));
        assert!(problem(&|found| found.columns[2].data_type = "date".to_owned()).contains("time of the day"));
        assert!(problem(&|found| found.columns[2].null = false).contains("NULL"));
        assert!(problem(&|found| found.columns[4].digits = Some((3, 1))).contains("too large"));
        assert!(problem(&|found| found.columns[1].charset = Some("ascii".to_owned())).contains("latin1"));
        assert!(problem(&|found| found.columns[6].fills_itself = false).contains("no default"));
        assert!(problem(&|found| drop(found.columns.remove(3))).contains("no column `day`"));
        assert!(problem(&|found| found.kind = "VIEW".to_owned()).contains("VIEW"));
        assert!(problem(&|found| found.engine = "MEMORY".to_owned()).contains("MEMORY"));
    }

    #[test]
    fn values_stand_in_digits_that_every_mode_of_the_server_reads_alike() {
        assert_eq!((literal(b"a'\\"), literal(b"")), ("0x61275c".to_owned(), "''".to_owned()));
        assert!(
            calls(Engine::Aria)
                .load_sql()
                .contains("CHARACTER SET latin1 FIELDS TERMINATED BY 0x3b ESCAPED BY 0x5c")
        );
    }
}
