//! `--via insert` and `--via script`: one row at a time, in the published order, over one connection.
//!
//! What orders refer to table by table, then each order with its lines and what goes with it (TPC-W a payment,
//! DVD Store the customer's history); a commit every 1,000 rows. The tables of an order grow side
//! by side and TPC-W's order_line grows in an order that is not that of its key. With `insert` secondary indexes are built in the
//! end, by sorting. The server of the published study (MySQL 5.1) had to fill them row by row instead, and so does `script`: they are
//! there from the start and grow by inserts anywhere in them.

use super::content::Content;
use super::error::DataError;
use super::parallel::{self, Tally};
use super::progress::{DataProgress, Phase};
use super::schema::Indexes;
use super::session::{Workplace, finish_filled};
use super::set::{DataSet, Generator, Table};
use super::writer::Writer;
use super::{dvdstore, tpcw};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

/// Inserts all rows, builds the indexes and verifies. Returns what each table holds.
pub(super) fn insert(
    place: &Workplace,
    set: DataSet,
    generator: &Generator,
    indexes: Indexes,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>, DataError> {
    let contents = parallel::run(place, 1, vec![()], tally, progress, &|control, ()| {
        let contents = insert_rows(control, set, generator, tally)?;
        for (table, content) in &contents {
            finish_filled(control, *table, indexes, *content, tally)?;
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
    let mut writer = Writer::new(control, generator, tally)?;
    let order = order(set);
    for &table in order.before {
        tally.enter(Phase::Rows, table.name())?;
        for number in 1..=set.rows_expected(table) {
            writer.insert(table, &[(number, 0)])?;
        }
    }
    tally.enter(Phase::Rows, order.head.name())?;
    for number in 1..=set.rows_expected(order.head) {
        writer.insert(order.head, &[(number, 0)])?;
        for table in order.lines {
            for line in 1..=generator.lines(number) {
                writer.insert(*table, &[(number, line)])?;
            }
        }
        for table in order.others {
            writer.insert(*table, &[(number, 0)])?;
        }
    }
    writer.commit()?;
    Ok(writer.contents)
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
