//! Filling a database with a data set.

use super::aged;
use super::check::{Found, check, differences, remove};
use super::content::Content;
use super::error::DataError;
use super::finish::finish_filled;
use super::insert;
use super::load;
use super::parallel::Tally;
use super::progress::DataProgress;
use super::references;
use super::reload;
use super::schema::Indexes;
use super::session::Workplace;
use super::set::Table;
use super::shuffled;
use super::spec::{DataSpec, Via};
use super::stamp::Stamp;
use super::tpcw::Date;
use evenkeel_os::clock;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::path::Path;
use std::sync::Arc;

/// Makes sure that the target's database holds the data set, and returns its stamp.
///
/// A data set that is there already is reused; a different, half-finished or changed one, and tables that
/// are not ours, are refused and left alone. With [`Via::Dump`] the same data set, however it came in, is
/// reloaded ([`super::reload`]) with its dump in `dumps`. A stop, an error or a kill leaves a half-finished set
/// that [`check`] recognises and [`super::remove`] drops.
pub fn populate(
    target: &Target,
    spec: &DataSpec,
    dumps: &Path,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp, DataError> {
    let place = Workplace::of(target, spec.set)?.until(stop);
    let mut control = match spec.via {
        Via::Dump => place.connect()?,
        _ => place.connect_or_create()?,
    };
    place.lock(&mut control)?;
    match check(&mut control, spec)? {
        Found::Ready(stamp) => Ok(stamp),
        Found::Missing if spec.via != Via::Dump => build(&place, &mut control, spec, stop, progress),
        found if spec.via == Via::Dump && can_reload(&found, spec) => {
            reload::reload_locked(&place, dumps, spec.threads, stop, progress)
        }
        found => {
            Err(found.refusal(&place.database).unwrap_or(DataError::Missing { database: place.database }))
        }
    }
}

/// Drops the data set that is there, finished or not, and makes this one: the way back after a write run
/// on a server whose files are out of reach. [`Via::Dump`] inserts the rows first. What is not ours is
/// refused and left alone.
pub fn repopulate(
    target: &Target,
    spec: &DataSpec,
    dumps: &Path,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp, DataError> {
    match remove(target, Some(&Workplace::of(target, spec.set)?.database)) {
        Ok(()) | Err(DataError::Missing { .. }) => {}
        Err(error) => return Err(error),
    }
    if spec.via == Via::Dump {
        populate(target, &DataSpec { via: Via::Insert, ..*spec }, dumps, stop, progress)?;
    }
    populate(target, spec, dumps, stop, progress)
}

/// The same on a server that nobody else has: what a stop or a kill left half finished there is dropped and made again.
pub fn populate_own(
    target: &Target,
    spec: &DataSpec,
    dumps: &Path,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp, DataError> {
    match populate(target, spec, dumps, stop, progress) {
        Err(DataError::HalfFinished { .. }) => repopulate(target, spec, dumps, stop, progress),
        // A kill before the rows that were to be reloaded were begun with.
        Err(DataError::Missing { .. }) if spec.via == Via::Dump => {
            repopulate(target, spec, dumps, stop, progress)
        }
        filled => filled,
    }
}

/// Whether the rows that are wanted are there and only their layout is another.
fn can_reload(found: &Found, spec: &DataSpec) -> bool {
    match found {
        Found::Differs { stamp, .. } => differences(stamp, &DataSpec { via: stamp.via, ..*spec }).is_empty(),
        Found::ReloadInterrupted => true,
        _ => false,
    }
}

fn build(
    place: &Workplace,
    control: &mut Control,
    spec: &DataSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp, DataError> {
    let today = spec.today.unwrap_or_else(|| Date::of_unix_time(clock::unix_time().as_secs()));
    let stamp = Stamp::building(spec, today);
    // The stamp comes first, so that whatever follows is known as ours.
    stamp.write(control, Stamp::TABLE)?;
    let tables = spec.set.tables();
    for table in &tables {
        control.exec(&table.definition().create_table(table.name(), indexes(spec.via)))?;
    }
    let generator = spec.set.generator(spec.seed, today);
    let rows = tables.iter().map(|&table| spec.set.rows_expected(table)).sum();
    let tally = Arc::new(Tally::new(stop, rows));
    let contents = match spec.via {
        Via::Insert | Via::Script => {
            insert::insert(place, spec.set, &generator, indexes(spec.via), &tally, progress)?
        }
        Via::Aged => aged::insert(place, spec.set, &generator, spec.seed, &tally, progress)?,
        Via::Shuffled => shuffled::insert(place, spec.set, &generator, spec.seed, &tally, progress)?,
        Via::Load | Via::Dump => load::load(place, spec.set, &generator, spec.threads, &tally, progress)?,
    };
    // Tables that start empty: no way in has anything to do with them.
    for &table in tables.iter().filter(|&&table| spec.set.rows_expected(table) == 0) {
        finish_filled(control, table, indexes(spec.via), Content::default(), &tally)?;
    }
    references::add(control, &tables)?;
    let stamp = stamp.finished(in_order(&tables, &contents));
    stamp.write(control, Stamp::TABLE)?;
    Ok(stamp)
}

/// Whether tables have their secondary indexes before their rows.
fn indexes(via: Via) -> Indexes {
    match via {
        Via::Script | Via::Aged | Via::Shuffled => Indexes::Inline,
        Via::Insert | Via::Load | Via::Dump => Indexes::Later,
    }
}

/// All tables in their own order, with nothing in those that got no rows.
fn in_order(tables: &[Table], contents: &[(Table, Content)]) -> Vec<(Table, Content)> {
    let content = |table| contents.iter().find(|(name, _)| *name == table).map(|(_, content)| *content);
    tables.iter().map(|&table| (table, content(table).unwrap_or_default())).collect()
}
