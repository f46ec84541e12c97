//! Rows of the generator as statements, some of them in one transaction.

use super::content::Content;
use super::error::Result;
use super::keys::Key;
use super::progress::Tally;
use super::set::{Generator, Table};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

const COMMIT_ROWS: u64 = 1_000;

pub(super) struct Writer<'a> {
    control: &'a mut Control,
    pub(super) generator: &'a Generator,
    pub(super) tally: &'a Tally,
    pub(super) contents: BTreeMap<Table, Content>,
    open_rows: u64,
    row: Vec<u8>,
    sql: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(control: &'a mut Control, generator: &'a Generator, tally: &'a Tally) -> Result<Self> {
        // Checks of uniqueness stay on, as they are for users' own inserts.
        control.exec("SET SESSION unique_checks = 1, autocommit = 0")?;
        let (contents, row, sql) = (BTreeMap::new(), Vec::new(), Vec::new());
        Ok(Self { control, generator, tally, contents, open_rows: 0, row, sql })
    }

    /// Inserts the rows with these keys by one statement.
    pub(super) fn insert(&mut self, table: Table, keys: &[Key]) -> Result<()> {
        self.sql.clear();
        self.sql.extend_from_slice(b"INSERT INTO ");
        self.sql.extend_from_slice(table.name().as_bytes());
        for (place, key) in keys.iter().enumerate() {
            self.sql.extend_from_slice(if place == 0 { b" VALUES " } else { b"," });
            self.row.clear();
            self.generator.write(table, key.0, key.1, &mut self.row);
            table.definition().sql_values(&self.row, &mut self.sql);
            self.contents.entry(table).or_default().add_row(&self.row);
            self.tally.add(1, self.row.len() as u64);
        }
        // Rows are ASCII by construction.
        self.control.exec(&String::from_utf8_lossy(&self.sql))?;
        self.open_rows += keys.len() as u64;
        if self.open_rows >= COMMIT_ROWS { self.commit() } else { Ok(()) }
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.tally.proceed()?;
        self.control.exec("COMMIT")?;
        self.open_rows = 0;
        Ok(())
    }
}
