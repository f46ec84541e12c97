//! What a table has: its rows by number and sum, and how it is made.

use super::RelayoutError;
use super::names::named;
use super::session::explained;
use crate::server::{Control, quoted, row_hash, sum_of_hashes};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    pub rows: u64,
    pub sum: String,
}

/// Columns whose values lie in the rows.
#[derive(Clone, Debug)]
pub(super) struct Columns(Vec<Column>);

#[derive(Clone, Debug)]
struct Column {
    /// Its name in backticks, as statements have it.
    name: String,
    is_float: bool,
    /// The server computes it when a row is written, which may come to something else today, as with another time zone.
    is_generated: bool,
}

impl Columns {
    pub fn of(control: &mut Control, table: &str) -> Result<Self, RelayoutError> {
        let rows = control.query(&format!(
            "SELECT COLUMN_NAME, DATA_TYPE, COALESCE(GENERATION_EXPRESSION, '') <> '' FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} AND EXTRA NOT LIKE '%VIRTUAL GENERATED%' ORDER BY ORDINAL_POSITION",
            named(table)
        ))?;
        let column = |row: Vec<Option<String>>| match row.as_slice() {
            [Some(name), kind, is_generated] => Some(Column {
                name: quoted(name),
                is_float: kind.as_deref() == Some("float"),
                is_generated: is_generated.as_deref() == Some("1"),
            }),
            _ => None,
        };
        Ok(Self(rows.rows.into_iter().filter_map(column).collect()))
    }

    /// Names of those that a copy gets values for, with commas between.
    pub fn names(&self) -> String {
        let given = self.0.iter().filter(|column| !column.is_generated);
        given.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn sums(control: &mut Control, table: &str, columns: &Columns) -> Result<Sums, RelayoutError> {
    let hash = row_hash(columns.0.iter().map(|column| (column.name.as_str(), column.is_float)));
    let sum = sum_of_hashes(&hash);
    let sql = format!("SELECT COUNT(*), {sum}, COALESCE(SUM({hash} IS NULL), 0) FROM {}", quoted(table));
    let rows = control.query(&sql).map_err(|error| explained(error, table))?;
    let text = |place: usize| rows.rows.first().and_then(|row| row[place].clone()).unwrap_or_default();
    match (text(0).parse(), text(2).as_str()) {
        (Ok(rows), "0") => Ok(Sums { rows, sum: text(1) }),
        _ => Err(RelayoutError::Refused {
            table: table.to_owned(),
            what: "has rows that are too large to compare".to_owned(),
            hint: "raise max_allowed_packet at the server, or relayout it in place (without --fresh)",
        }),
    }
}

/// The statement that makes a table, as the server has it.
pub(super) fn made(control: &mut Control, table: &str) -> Result<String, RelayoutError> {
    let rows = control.query(&format!("SHOW CREATE TABLE {}", quoted(table)))?;
    let text = rows.rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    Ok(text.unwrap_or_default())
}

/// The next number of a column that the server counts; `None` where there is none. `made` is [`made`].
pub(super) fn next_number(made: &str) -> Option<u64> {
    // The options of a table stand behind the last line of its columns.
    let options = made.rsplit_once("\n)").map_or("", |(_, options)| options);
    let (_, number) = options.split_once("AUTO_INCREMENT=")?;
    number.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The same statement without what two equal tables differ in: the name, and the next number.
pub(super) fn without_name(made: &str) -> String {
    let columns = made.split_once('(').map_or(made, |(_, rest)| rest);
    match next_number(made) {
        Some(number) => columns.replace(&format!(" AUTO_INCREMENT={number}"), ""),
        None => columns.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tables_are_made_alike_whatever_they_are_called_and_have_counted() {
        let of = |name: &str, number: &str| {
            format!(
                "CREATE TABLE `{name}` (\n  `id` int COMMENT 'AUTO_INCREMENT=7',\n  KEY (`id`)\n) ENGINE=InnoDB{number} DEFAULT CHARSET=utf8mb4"
            )
        };
        assert_eq!(next_number(&of("a", " AUTO_INCREMENT=12")), Some(12));
        assert_eq!(next_number(&of("a", "")), None);
        assert_eq!(without_name(&of("a", " AUTO_INCREMENT=12")), without_name(&of("b", "")));
        assert_ne!(without_name(&of("a", "")), without_name(&of("a", "").replace("int", "bigint")));
    }
}
