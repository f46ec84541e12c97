//! Putting fresh tables in the place of old ones without losing a write.

use super::error::DataError;
use super::session::{self, Workplace};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::{Control, TargetError};
use std::time::Duration;

const NEW: &str = "_evenkeel_new";
const OLD: &str = "_evenkeel_old";

/// How long to wait for other sessions before giving up.
const LOCK_WAIT_SECONDS: u32 = 10;
/// Error code of a lock that was not granted in time.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// Name of the fresh table that will replace `table`.
pub(super) fn new_name(table: &str) -> String {
    format!("{table}{NEW}")
}

fn old_name(table: &str) -> String {
    format!("{table}{OLD}")
}

/// Whether this is the name of a table that was replaced.
pub(super) fn is_old(name: &str) -> bool {
    name.ends_with(OLD)
}

/// Whether this is the name of a table that a swap leaves when it is cut short.
pub(super) fn is_leftover(name: &str) -> bool {
    name.ends_with(NEW) || is_old(name)
}

/// Brings the tables to one set, after a swap or a cut: an old table whose successor is missing gets its name
/// back, and all other leftovers go. Both hold the same rows, so no row depends on which one stays.
pub(super) fn recover(control: &mut Control) -> Result<(), DataError> {
    let names = session::table_names(control)?;
    let mut put_back = Vec::new();
    for old in names.iter().filter(|name| is_old(name)) {
        let table = old.trim_end_matches(OLD);
        if !names.iter().any(|name| name == table) {
            control.exec(&format!("RENAME TABLE `{old}` TO `{table}`"))?;
            put_back.push(old);
        }
    }
    for name in names.iter().filter(|name| is_leftover(name) && !put_back.contains(name)) {
        control.exec(&format!("DROP TABLE `{name}`"))?;
    }
    Ok(())
}

/// A connection that lets nobody else write to the tables while it lives; everybody may read.
pub(super) fn lock(place: &Workplace, tables: &[&str]) -> Result<Control, DataError> {
    let mut guard = connect(place)?;
    let locks: Vec<_> = tables.iter().map(|table| format!("`{table}` READ")).collect();
    guard.exec(&format!("LOCK TABLES {}", locks.join(", "))).map_err(|error| busy(place, error))?;
    Ok(guard)
}

/// Replaces each table by its fresh one. The old ones stay under another name until [`recover`].
///
/// `guard` holds the tables. Each table's RENAME, which is atomic, is sent over a connection of its own and
/// waits for the guard; when all of them wait, the guard goes. A waiting RENAME goes before waiting
/// writers, so no write reaches an old table after it was read: it waits, and finds the fresh one. One
/// RENAME of all tables would wait for the first of them only, and let writers through to the others.
pub(super) fn swap(
    place: &Workplace,
    control: &mut Control,
    guard: Control,
    tables: &[&str],
) -> Result<(), DataError> {
    let mut renamers = tables.iter().map(|_| connect(place)).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<u32> = renamers.iter().map(Control::id).collect();
    std::thread::scope(|scope| {
        let renaming: Vec<_> = tables
            .iter()
            .zip(&mut renamers)
            .map(|(table, renamer)| scope.spawn(move || renamer.exec(&rename(table))))
            .collect();
        let waiting = wait_for_renames(place, control, &ids);
        if waiting.is_err() {
            // Without the certainty that they are first in the queue they must not happen.
            ids.iter().for_each(|id| drop(control.kill(*id)));
        }
        drop(guard);
        for renamed in renaming {
            let renamed = renamed.join().map_err(|_| DataError::Thread)?;
            waiting.as_ref().map_or(Ok(()), |()| renamed.map(drop).map_err(|error| busy(place, error)))?;
        }
        waiting
    })
}

fn connect(place: &Workplace) -> Result<Control, DataError> {
    let mut control = place.connect()?;
    control.exec(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_SECONDS}"))?;
    Ok(control)
}

fn rename(table: &str) -> String {
    format!("RENAME TABLE `{table}` TO `{}`, `{}` TO `{table}`", old_name(table), new_name(table))
}

/// Returns when all these connections wait for their tables.
fn wait_for_renames(place: &Workplace, control: &mut Control, ids: &[u32]) -> Result<(), DataError> {
    let clock = Clock::start();
    let list: Vec<_> = ids.iter().map(u32::to_string).collect();
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id IN ({}) \
         AND state LIKE 'Waiting for table metadata lock%'",
        list.join(", ")
    );
    let all = ids.len().to_string();
    // Half of the time that a RENAME waits, so that none of them gives up while others arrive.
    while clock.now() < Nanos::from_secs(u64::from(LOCK_WAIT_SECONDS) / 2) {
        if control.query_value(&sql)?.as_deref() == Some(&all) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(DataError::TablesBusy { database: place.database.clone() })
}

fn busy(place: &Workplace, error: TargetError) -> DataError {
    match error.code() {
        Some(LOCK_WAIT_TIMEOUT) => DataError::TablesBusy { database: place.database.clone() },
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_its_successor_change_places_in_one_statement() {
        assert_eq!(rename("a"), "RENAME TABLE `a` TO `a_evenkeel_old`, `a_evenkeel_new` TO `a`");
    }

    #[test]
    fn leftovers_are_known_by_their_names() {
        assert!(is_leftover(&new_name("item")) && is_leftover(&old_name("item")));
        assert!(is_old(&old_name("item")) && !is_old(&new_name("item")));
        assert!(!is_leftover("item"));
    }
}
