//! `--via insert` and `--via script`: one row at a time, in the published order, over one connection.
//!
//! What orders refer to table by table, then each order with its lines and what goes with it (TPC-W a payment,
//! DVD Store the customer's history); a commit every 1,000 rows. The tables of an order grow side
//! by side and TPC-W's order_line grows in an order that is not that of its key. With `insert` secondary indexes are built in the
//! end, by sorting. The server of the published study (MySQL 5.1) had to fill them row by row instead, and so does `script`: they are
//! there from the start and grow by inserts anywhere in them.

use super::content::Content;
use super::error::Result;
use super::parallel;
use super::progress::{DataProgress, Phase, Tally};
use super::schema::Indexes;
use super::session::{Workplace, finish_filled};
use super::set::{DataSet, Generator, Table};
use super::writer::Writer;
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
) -> Result<Vec<(Table, Content)>> {
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
) -> Result<BTreeMap<Table, Content>> {
    let mut writer = Writer::new(control, generator, tally)?;
    let filled = set.filled();
    let head = filled.iter().position(|table| *table == set.orders()).unwrap_or(filled.len());
    let (before, of_orders) = filled.split_at(head);
    for &table in before {
        tally.enter(Phase::Rows, table.name())?;
        for number in 1..=set.rows_expected(table) {
            writer.insert(table, &[(number, 0)])?;
        }
    }
    tally.enter(Phase::Rows, set.orders().name())?;
    for number in 1..=set.rows_expected(set.orders()) {
        for &table in of_orders {
            let lines = if table.has_lines() { 1..=generator.lines(number) } else { 0..=0 };
            for line in lines {
                writer.insert(table, &[(number, line)])?;
            }
        }
    }
    writer.commit()?;
    Ok(writer.contents)
}
