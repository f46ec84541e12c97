//! The repair of a storage layout: dump in primary key order, load into fresh tables, verify, swap.
//!
//! The tables themselves stay untouched until fresh ones with verified content stand beside them; then each
//! changes places with its successor in one step. A failure or a kill before leaves the old tables, one in
//! between leaves some old and some new with the same rows, and [`super::swap::recover`] clears up at the
//! next reload. References between tables are dropped first and made again in the end. The price is room for the data twice in the server and once in the dump. Writers wait from
//! beginning to end.

use super::dump::{self, Dump};
use super::error::DataError;
use super::load::{load_statement, refuse_warnings};
use super::parallel::{self, Tally};
use super::progress::{DataProgress, Phase};
use super::references;
use super::schema::Indexes;
use super::session::{self, Workplace};
use super::set::{DataSet, Table};
use super::size::tables_size;
use super::spec::Via;
use super::stamp::{Stamp, State};
use super::swap;
use evenkeel_os::clock;
use evenkeel_os::free_bytes;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Dumps the data set of a database and reloads it, so that its pages lie in the order of their keys.
///
/// The dump goes to a new directory in `directory`, where there must be room for as much as the tables take at the
/// server; it is removed at the end, and kept where the reload fails. A data set that a write run has changed is reloaded as it is. A database without our stamp, and
/// a half-finished data set, are refused.
pub fn reload(
    target: &Target,
    database: Option<&str>,
    directory: &Path,
    threads: usize,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp, DataError> {
    let place = Workplace::new(target, database)?.until(stop);
    let mut control = place.connect()?;
    place.lock(&mut control)?;
    reload_locked(&place, directory, threads, stop, progress)
}

/// The same for a caller that holds the lock of the data set.
pub(super) fn reload_locked(
    place: &Workplace,
    directory: &Path,
    threads: usize,
    stop: &Stop,
    progress: &mut dyn FnMut(DataProgress),
) -> Result<Stamp, DataError> {
    let mut control = place.connect()?;
    let stamp = stamp_to_reload(place, &mut control)?;
    let set = stamp.set;
    let directory = create_directory(place, directory)?;
    if let Err(error) = size_of(&mut control, set).and_then(|needed| require_room(&directory, needed)) {
        remove_dump(&directory)?;
        return Err(error);
    }
    references::drop_all(&mut control, &set.tables())?;
    let reload = Reload { place, threads, directory: &directory, stamp };
    let done = reload.run(&mut control, stop, progress);
    finish(place, control, &directory, set, done)
}

/// Clears up after a reload, whether it went well or not.
fn finish(
    place: &Workplace,
    mut control: Control,
    directory: &Path,
    set: DataSet,
    done: Result<Stamp, DataError>,
) -> Result<Stamp, DataError> {
    match done {
        Ok(stamp) => {
            references::add(&mut control, &set.tables())?;
            remove_dump(directory)?;
            Ok(stamp)
        }
        Err(error) if error.is_stop() => {
            remove_dump(directory)?;
            swap::recover(&mut control)?;
            references::add(&mut control, &set.tables())?;
            Err(DataError::Stopped)
        }
        Err(source) => {
            // Should this fail too, the next reload does it.
            let _ = swap::recover(&mut control).and_then(|()| references::add(&mut control, &set.tables()));
            let (database, directory) = (place.database.clone(), directory.to_owned());
            Err(DataError::Reload { database, directory, source: Box::new(source) })
        }
    }
}

/// The stamp of a data set that is whole, after clearing up what an earlier reload left.
fn stamp_to_reload(place: &Workplace, control: &mut Control) -> Result<Stamp, DataError> {
    let database = place.database.clone();
    let names = session::table_names(control)?;
    // Only in a database of ours do names that look like leftovers mean leftovers.
    if names.iter().any(|name| name.starts_with(Stamp::TABLE)) {
        swap::recover(control)?;
    }
    match Stamp::read(control)? {
        Some(Stamp { state: State::Building, .. }) => Err(DataError::HalfFinished { database }),
        Some(stamp) => Ok(stamp),
        None => Err(match names.into_iter().next() {
            Some(table) => DataError::Foreign { database, table },
            None => DataError::Missing { database },
        }),
    }
}

struct Reload<'a> {
    place: &'a Workplace,
    threads: usize,
    directory: &'a Path,
    stamp: Stamp,
}

impl Reload<'_> {
    fn run(
        self,
        control: &mut Control,
        stop: &Stop,
        progress: &mut dyn FnMut(DataProgress),
    ) -> Result<Stamp, DataError> {
        let tables = self.stamp.set.tables();
        let names: Vec<&str> = tables.iter().map(|table| table.name()).collect();
        let guard = swap::lock(self.place, &names)?;
        let tally = Arc::new(Tally::new(stop, 2 * self.stamp.rows()));
        parallel::run(self.place, self.threads, tables, &tally, progress, &|control, table| {
            self.reload_table(control, table, &tally)
        })?;
        tally.proceed()?;
        swap::swap(self.place, control, guard, &names)?;
        // Until the old tables are dropped they say that this is not finished, so the stamp goes first.
        let stamp = Stamp { via: Via::Dump, finished_at: clock::unix_time().as_secs(), ..self.stamp };
        stamp.write(control, Stamp::TABLE)?;
        swap::recover(control)?;
        Ok(stamp)
    }

    fn reload_table(&self, control: &mut Control, table: Table, tally: &Arc<Tally>) -> Result<(), DataError> {
        let definition = table.definition();
        let path = self.directory.join(format!("{table}.tsv"));
        tally.enter(Phase::Dump, table.name())?;
        let dumped = dump::write(control, definition, &path, tally)?;
        tally.enter(Phase::Rows, table.name())?;
        let name = swap::new_name(table.name());
        control.exec(&definition.create_table(&name, Indexes::Later))?;
        control.load_data_local(&load_statement(&name, "utf8mb4"), Dump::open(&path, tally)?)?;
        refuse_warnings(control, &name)?;
        tally.enter(Phase::Indexes, table.name())?;
        session::finish_table(control, definition, &name)?;
        tally.enter(Phase::Verify, table.name())?;
        session::expect_content(control, definition, &name, dumped)
    }
}

/// Bytes of all tables: text without the slack of pages and without indexes is smaller.
fn size_of(control: &mut Control, set: DataSet) -> Result<u64, DataError> {
    let names: Vec<&str> = set.tables().iter().map(|table| table.name()).collect();
    tables_size(control, &names)
}

/// Refuses to begin a dump that would end in a full disk.
fn require_room(directory: &Path, needed: u64) -> Result<(), DataError> {
    let free = free_bytes(directory).map_err(|source| DataError::File {
        doing: "look for free space in",
        path: directory.to_owned(),
        source,
    })?;
    if free < needed {
        let path = directory.parent().unwrap_or(directory).to_owned();
        return Err(DataError::NoSpace { path, free_mib: free >> 20, needed_mib: needed.div_ceil(1 << 20) });
    }
    Ok(())
}

fn create_directory(place: &Workplace, parent: &Path) -> Result<PathBuf, DataError> {
    let name = format!("evenkeel-dump-{}-{}", place.database, clock::unix_time().as_millis());
    let path = parent.join(name);
    match fs::create_dir_all(parent).and_then(|()| fs::create_dir(&path)) {
        Ok(()) => Ok(path),
        Err(source) => Err(DataError::File { doing: "create the directory", path, source }),
    }
}

fn remove_dump(directory: &Path) -> Result<(), DataError> {
    fs::remove_dir_all(directory).map_err(|source| DataError::File {
        doing: "remove the dump",
        path: directory.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_without_room_is_refused_with_the_figures_and_the_way_out() {
        let home = tempfile::tempdir().unwrap();
        let dump = home.path().join("dump");
        fs::create_dir(&dump).unwrap();
        assert!(require_room(&dump, 1 << 20).is_ok());
        let refused = require_room(&dump, u64::MAX).unwrap_err();
        let DataError::NoSpace { path, free_mib, needed_mib } = &refused else { panic!("{refused}") };
        assert!(path == home.path() && free_mib < needed_mib, "{refused}");
        assert!(refused.hint().is_some_and(|hint| hint.contains("--dump-dir")), "{refused}");
    }
}
