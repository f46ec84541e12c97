//! `--via insert`: one row at a time, in the published order.
//!
//! What orders refer to table by table, then each order with its lines and what goes with it (TPC-W a payment,
//! DVD Store the customer's history); a commit every 1,000 rows, indexes last. The tables of an order grow side
//! by side and TPC-W's order_line grows in an order that is not that of its key, which leaves the layout that a
//! shop's own inserts leave.

use super::content::Content;
use super::error::DataError;
use super::parallel::{self, Tally};
use super::progress::{DataProgress, Phase};
use super::session::{self, Workplace};
use super::set::{DataSet, Generator, Table};
use super::{dvdstore, tpcw};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

/// Rows of one transaction.
const COMMIT_ROWS: u64 = 1_000;

/// Inserts all rows, builds the indexes and verifies. Returns what each table holds.
pub(super) fn insert(
    place: &Workplace,
    set: DataSet,
    generator: &Generator,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>, DataError> {
    let contents = parallel::run(place, 1, vec![()], tally, progress, &|control, ()| {
        let contents = insert_rows(control, set, generator, tally)?;
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
    set: DataSet,
    generator: &Generator,
    tally: &Tally,
) -> Result<BTreeMap<Table, Content>, DataError> {
    let mut inserter = Inserter { control, tally, contents: BTreeMap::new(), open_rows: 0, sql: Vec::new() };
    // Checks of uniqueness stay on, as they are for users' own inserts.
    inserter.control.exec("SET SESSION unique_checks = 1, autocommit = 0")?;
    let order = order(set);
    let mut row = Vec::new();
    for &table in order.before {
        tally.enter(Phase::Rows, table.name())?;
        for number in 1..=set.rows_expected(table) {
            inserter.insert(generator, table, (number, 0), &mut row)?;
        }
    }
    tally.enter(Phase::Rows, order.head.name())?;
    for number in 1..=set.rows_expected(order.head) {
        inserter.insert(generator, order.head, (number, 0), &mut row)?;
        for table in order.lines {
            for line in 1..=generator.lines(number) {
                inserter.insert(generator, *table, (number, line), &mut row)?;
            }
        }
        for table in order.others {
            inserter.insert(generator, *table, (number, 0), &mut row)?;
        }
    }
    inserter.commit()?;
    Ok(inserter.contents)
}

/// What goes in before any order, and what an order brings.
struct Order {
    before: &'static [Table],
    head: Table,
    /// One row for each line.
    lines: &'static [Table],
    /// One row for each order.
    others: &'static [Table],
}

fn order(set: DataSet) -> Order {
    use dvdstore::Table as Dvd;
    use tpcw::Table as Tpcw;
    match set {
        DataSet::Tpcw(_) => Order {
            before: &[
                Table::Tpcw(Tpcw::Address),
                Table::Tpcw(Tpcw::Author),
                Table::Tpcw(Tpcw::Country),
                Table::Tpcw(Tpcw::Customer),
                Table::Tpcw(Tpcw::Item),
            ],
            head: Table::Tpcw(Tpcw::Orders),
            lines: &[Table::Tpcw(Tpcw::OrderLine)],
            others: &[Table::Tpcw(Tpcw::CcXacts)],
        },
        DataSet::DvdStore(_) => Order {
            before: &[
                Table::DvdStore(Dvd::Categories),
                Table::DvdStore(Dvd::Customers),
                Table::DvdStore(Dvd::Products),
                Table::DvdStore(Dvd::Inventory),
            ],
            head: Table::DvdStore(Dvd::Orders),
            lines: &[Table::DvdStore(Dvd::OrderLines), Table::DvdStore(Dvd::CustHist)],
            others: &[],
        },
    }
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
    /// Inserts a row; its key is a number, or an order and a line. `row` is room to write it.
    fn insert(
        &mut self,
        generator: &Generator,
        table: Table,
        (number, line): (u64, u64),
        row: &mut Vec<u8>,
    ) -> Result<(), DataError> {
        row.clear();
        generator.write(table, number, line, row);
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
