//! `--via insert`: one row at a time, in the published order.
//!
//! Address, author, country, customer and item table by table, then each order with its lines and its
//! payment; a commit every 1,000 rows, indexes last. The three tables of an order grow side by side and
//! order_line grows in an order that is not that of its key, which leaves the layout that a shop's own
//! inserts leave.

use super::error::DataError;
use super::parallel::{self, Tally};
use super::progress::{DataProgress, Phase};
use super::session::{self, Place};
use super::tpcw::{Content, Generator, Table};
use crate::target::Control;
use std::collections::BTreeMap;

/// Rows of one transaction.
const COMMIT_ROWS: u64 = 1_000;

/// Inserts all rows, builds the indexes and verifies. Returns what each table holds.
pub(super) fn insert(
    place: &Place,
    generator: Generator,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>, DataError> {
    let contents = parallel::run(place, 1, vec![()], tally, progress, &|control, ()| {
        let contents = insert_rows(control, &generator, tally)?;
        for (table, content) in &contents {
            tally.enter(Phase::Indexes, table.name())?;
            session::finish_table(control, table.definition(), table.name())?;
            tally.enter(Phase::Verify, table.name())?;
            session::expect_content(control, table.definition(), table.name(), *content)?;
        }
        Ok(contents)
    })?;
    Ok(contents.into_iter().flatten().collect())
}

fn insert_rows(
    control: &mut Control,
    generator: &Generator,
    tally: &Tally,
) -> Result<BTreeMap<Table, Content>, DataError> {
    let mut inserter = Inserter { control, tally, contents: BTreeMap::new(), open_rows: 0, sql: Vec::new() };
    // Checks of uniqueness stay on, as they are for users' own inserts.
    inserter.control.exec("SET SESSION unique_checks = 1, autocommit = 0")?;
    let mut row = Vec::new();
    for table in [Table::Address, Table::Author, Table::Country, Table::Customer, Table::Item] {
        tally.enter(Phase::Rows, table.name())?;
        for number in 1..=generator.scale().rows_expected(table) {
            row.clear();
            generator.write(table, number, &mut row);
            inserter.insert(table, &row)?;
        }
    }
    tally.enter(Phase::Rows, Table::Orders.name())?;
    for order in 1..=generator.scale().orders() {
        row.clear();
        generator.write(Table::Orders, order, &mut row);
        inserter.insert(Table::Orders, &row)?;
        for line in 1..=generator.lines(order) {
            row.clear();
            generator.write_line(order, line, &mut row);
            inserter.insert(Table::OrderLine, &row)?;
        }
        row.clear();
        generator.write(Table::CcXacts, order, &mut row);
        inserter.insert(Table::CcXacts, &row)?;
    }
    inserter.commit()?;
    Ok(inserter.contents)
}

struct Inserter<'a> {
    control: &'a mut Control,
    tally: &'a Tally,
    contents: BTreeMap<Table, Content>,
    /// Rows since the last commit.
    open_rows: u64,
    sql: Vec<u8>,
}

impl Inserter<'_> {
    fn insert(&mut self, table: Table, row: &[u8]) -> Result<(), DataError> {
        self.sql.clear();
        self.sql.extend_from_slice(b"INSERT INTO ");
        self.sql.extend_from_slice(table.name().as_bytes());
        self.sql.extend_from_slice(b" VALUES ");
        table.definition().sql_values(row, &mut self.sql);
        // Rows are ASCII by construction.
        self.control.exec(&String::from_utf8_lossy(&self.sql))?;
        self.contents.entry(table).or_default().add_row(row);
        self.tally.add(1, row.len() as u64);
        self.open_rows += 1;
        if self.open_rows == COMMIT_ROWS { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), DataError> {
        self.tally.proceed()?;
        self.control.exec("COMMIT")?;
        self.open_rows = 0;
        Ok(())
    }
}
