//! Values read from the database when a workload is made.

use crate::workload::Value;
use evenkeel_site::server::Control;
use std::collections::BTreeSet;

/// Reads the values of a column, for the `column` generator.
pub trait ColumnReader {
    /// At most `limit` values of `table.column`, in the order in which the server finds them, or its highest value
    /// where there is no limit; NULL is left out. The error is in the server's words.
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
        let sql = match limit {
            Some(limit) => format!("SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT {limit}"),
            None => format!("SELECT MAX({column}) FROM {table}"),
        };
        let rows = self.query(&sql).map_err(|error| error.to_string())?;
        Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).map(value).collect())
    }

    fn stored_functions(&mut self) -> Result<BTreeSet<String>, String> {
        const FUNCTIONS: &str =
            "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'";
        let found = self.query(FUNCTIONS).map_err(|error| error.to_string())?;
        let names = found.rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok(names.map(|name| name.to_uppercase()).collect())
    }
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
