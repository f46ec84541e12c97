//! What the server says of rows that it did not store as they were sent.

use crate::table::Table;
use evenkeel_site::server::{Control, TargetError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// Number of the row among those sent, from 0, where the server tells it.
    pub row: Option<usize>,
    pub code: u16,
    /// Column and reason, without the row's own values.
    pub text: String,
}

/// Most warnings that a server keeps of a statement.
pub(super) const KEPT: u64 = 65_535;
/// Most warnings whose row is asked for one by one.
const ASKED: usize = 2_000;

pub(super) fn read(control: &mut Control, table: &Table) -> Result<Vec<Warning>, TargetError> {
    let found = control.query("SHOW WARNINGS")?;
    let mut all = Vec::new();
    for (number, row) in (1..).zip(&found.rows) {
        let [_, Some(code), Some(message)] = &row[..] else { continue };
        let code = code.parse().unwrap_or(0);
        let mut warning = Warning { row: row_of(message), code, text: text(code, message, table) };
        if warning.row.is_none() && all.len() < ASKED {
            warning.row = ask_row(control, number)?;
        }
        all.push(warning);
    }
    Ok(all)
}

/// Whether a CHECK refused a row. MariaDB 10.11 does not count such a row, so that nobody knows which rows the warnings behind it mean.
pub(super) fn has_check(found: &[Warning]) -> bool {
    found.iter().any(|warning| matches!(warning.code, 4025 | 3819))
}

/// `at row 7` and `Row 7 was truncated` count from one.
fn row_of(message: &str) -> Option<usize> {
    let behind = match message.strip_prefix("Row ") {
        Some(rest) => rest,
        None => message.rsplit_once(" at row ")?.1,
    };
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<usize>().ok()?.checked_sub(1)
}

/// Where the message does not tell the row, MariaDB tells it from 10.7 on; asking leaves the warnings as they are.
fn ask_row(control: &mut Control, number: u64) -> Result<Option<usize>, TargetError> {
    let asked = control.exec(&format!("GET DIAGNOSTICS CONDITION {number} @evenkeel_row = ROW_NUMBER"));
    match asked {
        Ok(_) => {}
        Err(TargetError::Statement { .. }) => return Ok(None),
        Err(error) => return Err(error),
    }
    let row = control.query_value("SELECT @evenkeel_row")?;
    Ok(row.and_then(|row| row.parse::<usize>().ok()).and_then(|row| row.checked_sub(1)))
}

/// The server's messages have values of the record in them, which do not belong into logs.
pub(super) fn text(code: u16, message: &str, table: &Table) -> String {
    let named = table.columns.iter().filter(|column| {
        [format!("column '{}'", column.name), format!("`{}` at row", column.name)]
            .iter()
            .any(|name| message.contains(name))
    });
    let what = match code {
        1062 => "its key is in the table already",
        1048 | 1263 => "NULL in a column that takes none",
        1264 => "out of the column's range",
        1265 => "does not fit the column's type or width",
        1406 => "wider than its column",
        1292 | 1366 | 1411 => "no value of the column's type or character set",
        1261 | 1262 => "another number of fields than columns",
        1526 => "the table has no partition for it",
        4025 | 3819 => "a CHECK of the table refuses it",
        1452 => "a foreign key refuses it",
        // By whoever wrote the trigger, so that it is for people to read.
        1644 => return format!("a trigger of the table refuses it: {message} (error 1644)"),
        _ => "the server did not store it as it was sent",
    };
    match named.max_by_key(|column| column.name.len()) {
        Some(column) => format!("{}: {what} (warning {code})", column.name),
        None => format!("{what} (warning {code})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_is_read_from_the_message_and_nothing_of_its_values_is_told() {
        assert_eq!(row_of("Data truncated for column 'b' at row 2"), Some(1));
        assert_eq!(
            row_of("Row 6 was truncated; it contained more data than there were input columns"),
            Some(5)
        );
        assert_eq!(row_of("Duplicate entry '1' for key 'PRIMARY'"), None);
        let text_of = "field = [{ name = 'a', width = 2 }, { name = 'ab', width = 3 }]";
        let layout = crate::layout::parse(text_of).unwrap().layout;
        let table = Table::of(&layout, 0, "t", crate::table::Engine::InnoDb, &[]).unwrap();
        let told = text(1366, "Incorrect integer value: 'zz' for column `x`.`t`.`ab` at row 4", &table);
        assert_eq!(told, "ab: no value of the column's type or character set (warning 1366)");
        assert_eq!(
            text(1062, "Duplicate entry '346' for key 'PRIMARY'", &table),
            "its key is in the table already (warning 1062)"
        );
    }
}
