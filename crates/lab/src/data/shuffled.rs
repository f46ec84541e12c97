//! `--via shuffled`: the rows of each table in an order that has nothing to do with any key, with all indexes there from the start.
//!
//! Every index grows by splits of pages anywhere in it, so that neighbours in the order of keys lie anywhere in the file: the worst that
//! a layout can be. The keys of a table are shuffled in memory, 16 bytes each.

use super::content::Content;
use super::error::Result;
use super::parallel;
use super::progress::{DataProgress, Phase, Tally};
use super::schema::Indexes;
use super::session::{Workplace, finish_filled};
use super::set::{DataSet, Generator, Table};
use super::writer::Writer;
use evenkeel_core::experiment::shuffled;
use evenkeel_core::random::Seed;
use evenkeel_site::server::Control;

const STATEMENT_ROWS: usize = 50;

/// Inserts the rows of all tables that have some, one table after the other over one connection, and verifies them.
pub(super) fn insert(
    place: &Workplace,
    set: DataSet,
    generator: &Generator,
    seed: Seed,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>> {
    parallel::run(place, 1, set.filled(), tally, progress, &|control, table| {
        tally.enter(Phase::Rows, table.name())?;
        let seed = seed.child("shuffled").child(table.name());
        let content = fill(control, generator, table, seed, tally)?;
        finish_filled(control, table, Indexes::Inline, content, tally)?;
        Ok((table, content))
    })
}

fn fill(
    control: &mut Control,
    generator: &Generator,
    table: Table,
    seed: Seed,
    tally: &Tally,
) -> Result<Content> {
    let keys = shuffled(generator.keys(table).collect(), seed);
    let mut writer = Writer::new(control, generator, tally)?;
    for keys in keys.chunks(STATEMENT_ROWS) {
        writer.insert(table, keys)?;
    }
    writer.commit()?;
    Ok(writer.contents.remove(&table).unwrap_or_default())
}
