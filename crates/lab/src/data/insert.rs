//! `--via insert` and `--via script`: one row at a time, in the published order, over one connection. `--via shuffled`: in an order that
//! has nothing to do with any key.
//!
//! What orders refer to table by table, then each order with its lines and what goes with it (TPC-W a payment,
//! DVD Store the customer's history); a commit every 1,000 rows. The tables of an order grow side
//! by side and TPC-W's order_line grows in an order that is not that of its key. With `insert` secondary indexes are built in the
//! end, by sorting. The server of the published study (MySQL 5.1) had to fill them row by row instead, and so does `script`: they are
//! there from the start and grow by inserts anywhere in them.
//!
//! Shuffled, with all indexes there from the start, every index grows by splits of pages anywhere in it, so that neighbours in the order of
//! keys lie anywhere in the file: the worst that a layout can be. The keys of a table are shuffled in memory, 16 bytes each.

use super::parallel;
use super::schema::Indexes;
use super::session::{DataProgress, Phase, Result, Tally, Workplace, finish_filled};
use super::set::{DataSet, Generator, Key, Table};
use super::stream::Content;
use evenkeel_core::experiment::shuffled;
use evenkeel_core::random::Seed;
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

/// Rows of a statement where they are shuffled.
const STATEMENT_ROWS: usize = 50;

/// Inserts all rows, in the published order or shuffled by a seed, builds the indexes and verifies. Returns what each table holds.
pub(super) fn insert(
    place: &Workplace,
    (set, generator): (DataSet, &Generator),
    (indexes, shuffle): (Indexes, Option<Seed>),
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>> {
    let contents = parallel::run(place, 1, vec![()], tally, progress, &|control, ()| {
        let mut writer = Writer::new(control, generator, tally)?;
        match shuffle {
            Some(seed) => insert_shuffled(&mut writer, set, seed)?,
            None => insert_in_order(&mut writer, set)?,
        }
        writer.commit()?;
        let contents = writer.contents;
        for (table, content) in &contents {
            finish_filled(control, *table, indexes, *content, tally)?;
        }
        Ok(contents)
    })?;
    Ok(contents.into_iter().flatten().collect())
}

fn insert_in_order(writer: &mut Writer<'_>, set: DataSet) -> Result<()> {
    let filled = set.filled();
    let head = filled.iter().position(|table| *table == set.orders()).unwrap_or(filled.len());
    let (before, of_orders) = filled.split_at(head);
    for &table in before {
        writer.tally.enter(Phase::Rows, table.name())?;
        for number in 1..=set.rows_expected(table) {
            writer.insert(table, &[(number, 0)])?;
        }
    }
    writer.tally.enter(Phase::Rows, set.orders().name())?;
    for number in 1..=set.rows_expected(set.orders()) {
        for &table in of_orders {
            let lines = if table.has_lines() { 1..=writer.generator.lines(number) } else { 0..=0 };
            for line in lines {
                writer.insert(table, &[(number, line)])?;
            }
        }
    }
    Ok(())
}

fn insert_shuffled(writer: &mut Writer<'_>, set: DataSet, seed: Seed) -> Result<()> {
    for table in set.filled() {
        writer.tally.enter(Phase::Rows, table.name())?;
        let seed = seed.child("shuffled").child(table.name());
        for keys in shuffled(writer.generator.keys(table).collect(), seed).chunks(STATEMENT_ROWS) {
            writer.insert(table, keys)?;
        }
    }
    Ok(())
}

// Rows of the generator as statements, some of them in one transaction.

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
