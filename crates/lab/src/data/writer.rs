//! Rows of the generator as statements, some of them in one transaction: what all ways in share that write row by row.

use super::content::Content;
use super::error::DataError;
use super::parallel::Tally;
use super::set::{Generator, Table};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

/// Rows of one transaction.
const COMMIT_ROWS: u64 = 1_000;

/// A connection that writes rows of a data set.
pub(super) struct Writer<'a> {
    control: &'a mut Control,
    generator: &'a Generator,
    tally: &'a Tally,
    /// What was inserted into each table.
    pub(super) contents: BTreeMap<Table, Content>,
    /// Rows since the last commit.
    open_rows: u64,
    row: Vec<u8>,
    sql: Vec<u8>,
}

/// The key of a row: a number, or an order and a line; the line is zero where the key is one number.
pub(super) type Key = (u64, u64);

impl<'a> Writer<'a> {
    pub(super) fn new(
        control: &'a mut Control,
        generator: &'a Generator,
        tally: &'a Tally,
    ) -> Result<Self, DataError> {
        // Checks of uniqueness stay on, as they are for users' own inserts.
        control.exec("SET SESSION unique_checks = 1, autocommit = 0")?;
        let (contents, row, sql) = (BTreeMap::new(), Vec::new(), Vec::new());
        Ok(Self { control, generator, tally, contents, open_rows: 0, row, sql })
    }

    /// Inserts the rows with these keys by one statement.
    pub(super) fn insert(&mut self, table: Table, keys: &[Key]) -> Result<(), DataError> {
        self.begin("INSERT INTO ", table);
        for (place, key) in keys.iter().enumerate() {
            self.sql.extend_from_slice(if place == 0 { b" VALUES " } else { b"," });
            self.write_row(table, *key);
            table.definition().sql_values(&self.row, &mut self.sql);
            self.contents.entry(table).or_default().add_row(&self.row);
            self.tally.add(1, self.row.len() as u64);
        }
        self.execute(keys.len() as u64)
    }

    /// Inserts a row whose long text is not known yet (`Definition::long_text`).
    pub(super) fn insert_short(&mut self, table: Table, key: Key) -> Result<(), DataError> {
        self.write_row(table, key);
        self.contents.entry(table).or_default().add_row(&self.row);
        self.tally.add(1, self.row.len() as u64);
        if let Some(column) = table.definition().long_text() {
            let fields = self.row.split(|byte| *byte == b'\t').enumerate();
            let kept: Vec<&[u8]> =
                fields.map(|(at, field)| if at == column { b"".as_slice() } else { field }).collect();
            self.row = kept.join(&b'\t');
        }
        self.begin("INSERT INTO ", table);
        self.sql.extend_from_slice(b" VALUES ");
        table.definition().sql_values(&self.row, &mut self.sql);
        self.execute(1)
    }

    /// Gives a row its long text, which makes it grow in place.
    pub(super) fn grow(&mut self, table: Table, key: Key) -> Result<(), DataError> {
        let Some(column) = table.definition().long_text() else { return Ok(()) };
        self.write_row(table, key);
        let text = self.row.split(|byte| *byte == b'\t').nth(column).unwrap_or_default().to_vec();
        self.begin("UPDATE ", table);
        let name = table.definition().columns[column].name;
        self.sql.extend_from_slice(format!(" SET `{name}` = '").as_bytes());
        self.sql.extend_from_slice(&text);
        self.sql.extend_from_slice(b"' WHERE ");
        self.condition(table);
        self.execute(1)
    }

    /// Takes a row away and puts it in again, as one that is returned and ordered anew; not one without a primary key, which may
    /// have equals.
    pub(super) fn replace(&mut self, table: Table, key: Key) -> Result<(), DataError> {
        if table.definition().primary_key.is_empty() {
            return Ok(());
        }
        self.write_row(table, key);
        self.begin("DELETE FROM ", table);
        self.sql.extend_from_slice(b" WHERE ");
        self.condition(table);
        self.execute(1)?;
        self.begin("INSERT INTO ", table);
        self.sql.extend_from_slice(b" VALUES ");
        table.definition().sql_values(&self.row, &mut self.sql);
        self.execute(1)
    }

    /// Commits what is open.
    pub(super) fn commit(&mut self) -> Result<(), DataError> {
        self.tally.proceed()?;
        self.control.exec("COMMIT")?;
        self.open_rows = 0;
        Ok(())
    }

    fn write_row(&mut self, table: Table, (number, line): Key) {
        self.row.clear();
        self.generator.write(table, number, line, &mut self.row);
    }

    fn begin(&mut self, verb: &str, table: Table) {
        self.sql.clear();
        self.sql.extend_from_slice(verb.as_bytes());
        self.sql.extend_from_slice(table.name().as_bytes());
    }

    /// The row that was written last, by its key.
    fn condition(&mut self, table: Table) {
        let definition = table.definition();
        let fields: Vec<&[u8]> = self.row.split(|byte| *byte == b'\t').collect();
        for (place, key) in definition.order.iter().enumerate() {
            let column = definition.columns.iter().position(|column| column.name == *key);
            let value = column.and_then(|column| fields.get(column)).copied().unwrap_or_default();
            let and = if place == 0 { "" } else { " AND " };
            self.sql.extend_from_slice(format!("{and}`{key}` = '").as_bytes());
            self.sql.extend_from_slice(value);
            self.sql.push(b'\'');
        }
    }

    fn execute(&mut self, rows: u64) -> Result<(), DataError> {
        // Rows are ASCII by construction.
        self.control.exec(&String::from_utf8_lossy(&self.sql))?;
        self.open_rows += rows;
        if self.open_rows >= COMMIT_ROWS { self.commit() } else { Ok(()) }
    }
}
