//! Filling a database with a data set.

use super::check::{check, remove};
use super::content::Content;
use super::error::{DataError, Result};
use super::insert;
use super::load;
use super::progress::{DataProgress, Tally};
use super::schema::Indexes;
use super::session::{Workplace, finish_filled};
use super::set::Table;
use super::spec::{DataSpec, Via};
use super::stamp::Stamp;
use super::tpcw::Date;
use evenkeel_os::clock;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};

/// Makes sure that the target's database holds the data set, and returns its stamp.
///
/// A data set that is there already is reused; a different, half-finished or changed one, and tables that
/// are not ours, are refused and left alone. A stop, an error or a kill leaves a half-finished set
/// that [`check`] recognises and [`super::remove`] drops.
pub fn populate(
    target: &Target,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp> {
    let place = Workplace { stop: stop.clone(), ..Workplace::new(target, None, spec.set.name())? };
    let mut control = place.connect_or_create()?;
    place.lock(&mut control)?;
    match check(&mut control, spec) {
        Err(DataError::Missing { .. }) => build(&place, &mut control, spec, stop, progress),
        found => found,
    }
}

/// The same on a server that nobody else has: what a stop or a kill left half finished there is dropped and made again.
pub fn populate_own(
    target: &Target,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp> {
    match populate(target, spec, stop, progress) {
        Err(DataError::HalfFinished { database }) => {
            remove(target, Some(&database))?;
            populate(target, spec, stop, progress)
        }
        filled => filled,
    }
}

fn build(
    place: &Workplace,
    control: &mut Control,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp> {
    let today = spec.today.unwrap_or_else(|| Date::of_unix_time(clock::unix_time().as_secs()));
    let stamp = Stamp::building(spec, today);
    // The stamp comes first, so that whatever follows is known as ours.
    stamp.write(control)?;
    let tables = spec.set.tables();
    let indexes = indexes(spec.via);
    for table in &tables {
        control.exec(&table.definition().create_table(indexes))?;
    }
    let generator = spec.set.generator(spec.seed, today);
    let rows = tables.iter().map(|&table| spec.set.rows_expected(table)).sum();
    let tally = Tally::new(stop, rows);
    let contents = match spec.via {
        Via::Insert | Via::Script | Via::Shuffled => {
            let shuffle = (spec.via == Via::Shuffled).then_some(spec.seed);
            insert::insert(place, (spec.set, &generator), (indexes, shuffle), &tally, progress)?
        }
        Via::Load | Via::Dump => load::load(place, spec.set, &generator, spec.threads, &tally, progress)?,
    };
    // Tables that start empty: no way in has anything to do with them.
    for &table in tables.iter().filter(|&&table| spec.set.rows_expected(table) == 0) {
        finish_filled(control, table, indexes, Content::default(), &tally)?;
    }
    add_references(control, &tables)?;
    let stamp = stamp.finished(in_order(&tables, &contents));
    stamp.write(control)?;
    Ok(stamp)
}

/// Foreign keys come last. The rows are not looked through: they come from the generator. An engine without foreign
/// keys ignores it.
fn add_references(control: &mut Control, tables: &[Table]) -> Result<()> {
    control.exec("SET SESSION foreign_key_checks = 0")?;
    for sql in tables.iter().filter_map(|table| table.definition().create_references()) {
        control.exec(&sql)?;
    }
    control.exec("SET SESSION foreign_key_checks = 1")?;
    Ok(())
}

/// Whether tables have their secondary indexes before their rows.
fn indexes(via: Via) -> Indexes {
    match via {
        Via::Script | Via::Shuffled => Indexes::Inline,
        Via::Insert | Via::Load | Via::Dump => Indexes::Later,
    }
}

/// All tables in their own order, with nothing in those that got no rows.
fn in_order(tables: &[Table], contents: &[(Table, Content)]) -> Vec<(Table, Content)> {
    let content = |table| contents.iter().find(|(name, _)| *name == table).map(|(_, content)| *content);
    tables.iter().map(|&table| (table, content(table).unwrap_or_default())).collect()
}
