//! Values read from the database when a workload is made.

use crate::workload::Value;
use evenkeel_site::server::Control;
use std::collections::BTreeSet;

/// Reads the values of a column, for the `column` generator.
pub trait ColumnReader {
    /// At most `limit` values of `table.column` from the whole table, or its highest value where there is no limit; NULL is left
    /// out. The error is in the server's words.
    fn read_column(&mut self, table: &str, column: &str, limit: Option<u64>) -> Result<Vec<Value>, String>;

    /// Names of the stored functions of all schemas, in capitals; none without a server.
    fn stored_functions(&mut self) -> Result<BTreeSet<String>, String> {
        Ok(BTreeSet::new())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NoColumns;

impl ColumnReader for NoColumns {
    /// A single NULL stands for whatever the column has.
    fn read_column(&mut self, _: &str, _: &str, limit: Option<u64>) -> Result<Vec<Value>, String> {
        Ok(limit.map(|_| Value::Null).into_iter().collect())
    }
}

impl ColumnReader for Control {
    fn read_column(&mut self, table: &str, column: &str, limit: Option<u64>) -> Result<Vec<Value>, String> {
        let (table, column) = (quoted(table), quoted(column));
        let Some(limit) = limit else {
            return first_of_each(self, &format!("SELECT MAX({column}) FROM {table}"));
        };
        if let Some(sql) = slices(self, &table, &column, limit)? {
            let found = first_of_each(self, &sql)?;
            if found.len() as u64 >= limit / 10 {
                return Ok(found);
            }
        }
        first_of_each(self, &format!("SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT {limit}"))
    }

    fn stored_functions(&mut self) -> Result<BTreeSet<String>, String> {
        const FUNCTIONS: &str =
            "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'";
        let found = self.query(FUNCTIONS).map_err(|error| error.to_string())?;
        let names = found.rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok(names.map(|name| name.to_uppercase()).collect())
    }
}

/// Parts of a table that values are taken from.
const SLICES: u64 = 100;

/// Reads rows from the beginning of each part of the primary key. The first rows of whichever index the server reads would be a corner
/// of the table, and another one once an index is added. `None` where the key is no number, or the table is small.
fn slices(control: &mut Control, table: &str, column: &str, limit: u64) -> Result<Option<String>, String> {
    let keys = format!("SHOW KEYS FROM {table} WHERE Key_name = 'PRIMARY' AND Seq_in_index = 1");
    let keys = control.query(&keys).map_err(|error| error.to_string())?;
    let name = keys.column("Column_name").and_then(|place| keys.rows.first()?.get(place)?.clone());
    let Some(key) = name.map(|name| format!("`{}`", name.replace('`', "``"))) else { return Ok(None) };
    let ends = control
        .query(&format!("SELECT MIN({key}), MAX({key}) FROM {table}"))
        .map_err(|error| error.to_string())?;
    let end = |place: usize| ends.rows.first()?.get(place)?.as_ref()?.parse::<i128>().ok();
    let Some((first, last)) = end(0).zip(end(1)).filter(|(first, last)| last - first >= i128::from(limit))
    else {
        return Ok(None);
    };
    let place = |part: u64| first + (last - first) * i128::from(part) / i128::from(SLICES);
    let slice = |part: u64| {
        let (from, until) = (place(part), place(part + 1) + i128::from(part + 1 == SLICES));
        let rows = limit.div_ceil(SLICES);
        format!(
            "(SELECT {column} FROM {table} WHERE {key} >= {from} AND {key} < {until} AND {column} IS NOT NULL ORDER BY {key} LIMIT {rows})"
        )
    };
    Ok(Some((0..SLICES).map(slice).collect::<Vec<_>>().join(" UNION ALL ")))
}

fn first_of_each(control: &mut Control, sql: &str) -> Result<Vec<Value>, String> {
    let rows = control.query(sql).map_err(|error| error.to_string())?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).map(value).collect())
}

/// A whole number as a number, so that it is compared as one; anything else as text.
fn value(text: String) -> Value {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => Value::Int(number),
        _ => Value::Text(text.into_bytes()),
    }
}

/// A name between backticks, a schema before a dot apart.
fn quoted(name: &str) -> String {
    let parts: Vec<String> = name.split('.').map(|part| format!("`{}`", part.replace('`', "``"))).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_numbers_are_numbers() {
        assert_eq!(quoted("shop.or`der"), "`shop`.`or``der`");
        assert_eq!(value("17".into()), Value::Int(17));
        assert_eq!(value("017".into()), Value::Text(b"017".to_vec()));
        assert_eq!(value("a".into()), Value::Text(b"a".to_vec()));
    }
}
