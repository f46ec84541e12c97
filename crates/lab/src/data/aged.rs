//! `--via aged`: a shop that has been open for a while.
//!
//! Several connections insert side by side with all indexes there from the start. Long texts are not there yet: they come later, in an
//! order that has nothing to do with that of the rows, so that rows grow on pages that are full and pages split. One row in ten is
//! taken away and put in again. In the end the rows are those of any other way in; which connection writes what and in which order
//! is fixed by the seed, and how the connections interleave is the server's.

use super::content::Content;
use super::error::DataError;
use super::finish::finish_filled;
use super::parallel::{self, Tally};
use super::permutation::Permutation;
use super::progress::{DataProgress, Phase};
use super::schema::Indexes;
use super::session::Workplace;
use super::set::{DataSet, Generator, Table};
use super::writer::Writer;
use evenkeel_core::random::Seed;
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

/// Connections that insert and change side by side, on every machine as many.
const CONNECTIONS: u64 = 4;
/// One row in so many is taken away and put in again.
const REPLACED: u64 = 10;

/// Fills, ages and verifies all tables that have rows.
pub(super) fn insert(
    place: &Workplace,
    set: DataSet,
    generator: &Generator,
    seed: Seed,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Vec<(Table, Content)>, DataError> {
    let filled: Vec<Table> = set.tables().into_iter().filter(|table| set.rows_expected(*table) > 0).collect();
    let shares = (0..CONNECTIONS).collect();
    let parts = parallel::run(place, CONNECTIONS as usize, shares, tally, progress, &|control, share| {
        fill(control, generator, &filled, share, seed.child("aged"), tally)
    })?;
    let mut contents: BTreeMap<Table, Content> = BTreeMap::new();
    for (table, content) in parts.into_iter().flatten() {
        contents.entry(table).or_default().merge(content);
    }
    parallel::run(place, 1, filled, tally, progress, &|control, table| {
        let content = contents.get(&table).copied().unwrap_or_default();
        finish_filled(control, table, Indexes::Inline, content, tally)?;
        Ok((table, content))
    })
}

/// What one connection does: its share of the rows of each table, first short, then grown and replaced.
fn fill(
    control: &mut Control,
    generator: &Generator,
    tables: &[Table],
    share: u64,
    seed: Seed,
    tally: &Tally,
) -> Result<BTreeMap<Table, Content>, DataError> {
    // A row that is put in again would else lock the gap beside it, in which another connection inserts.
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
    let mut writer = Writer::new(control, generator, tally)?;
    for &table in tables {
        tally.enter(Phase::Rows, table.name())?;
        let places = generator.places(table);
        for place in (share..places.len()).step_by(CONNECTIONS as usize) {
            if let Some(key) = places.key(place, generator) {
                writer.insert_short(table, key)?;
            }
        }
        // The rows that this connection has inserted: one that another connection holds would be waited for.
        let own = (places.len() + CONNECTIONS - 1 - share) / CONNECTIONS;
        let order = Permutation::new(own, seed.child(table.name()).numbered(share));
        for turn in 0..own {
            let place = order.at(turn) * CONNECTIONS + share;
            let Some(key) = places.key(place, generator) else { continue };
            writer.grow(table, key)?;
            if turn % REPLACED == 0 {
                writer.replace(table, key)?;
            }
        }
        writer.commit()?;
    }
    Ok(writer.contents)
}
