//! Putting fresh tables in the place of old ones, in one step and without losing a write.

use super::error::DataError;
use super::session::{self, Place};
use crate::clock::Clock;
use crate::target::{Control, TargetError};
use evenkeel_core::Nanos;
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

/// Brings the tables back to one set after a cut: an old table whose successor is missing gets its name
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

/// A connection that lets nobody else write to the tables while it lives.
pub(super) fn lock(place: &Place, tables: &[&str]) -> Result<Control, DataError> {
    let mut guard = place.connect()?;
    guard.exec(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_SECONDS}"))?;
    let locks: Vec<_> = tables.iter().map(|table| format!("`{table}` READ")).collect();
    guard.exec(&format!("LOCK TABLES {}", locks.join(", "))).map_err(|error| busy(place, error))?;
    Ok(guard)
}

/// Replaces each table by its fresh one, all in one RENAME, and drops the old ones.
///
/// `guard` holds the tables. The RENAME is sent over another connection and waits for it; only then is
/// the lock given up. A waiting RENAME goes before waiting writers, so no write can reach the old tables
/// after they were read: it waits, and finds the new ones.
pub(super) fn swap(
    place: &Place,
    control: &mut Control,
    guard: Control,
    tables: &[&str],
) -> Result<(), DataError> {
    let mut renamer = place.connect()?;
    renamer.exec(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_SECONDS}"))?;
    let id = renamer.id();
    let sql = rename(tables);
    std::thread::scope(|scope| {
        let renaming = scope.spawn(move || renamer.exec(&sql));
        let waiting = wait_for_rename(place, control, id, &|| renaming.is_finished());
        if waiting.is_err() {
            // Without the certainty that it is first in the queue it must not happen.
            let _ = control.kill(id);
        }
        drop(guard);
        let renamed = renaming.join().map_err(|_| DataError::Thread)?;
        waiting.and(renamed.map(drop).map_err(|error| busy(place, error)))
    })?;
    for table in tables {
        control.exec(&format!("DROP TABLE `{}`", old_name(table)))?;
    }
    Ok(())
}

fn rename(tables: &[&str]) -> String {
    let pairs: Vec<_> = tables
        .iter()
        .map(|table| format!("`{table}` TO `{}`, `{}` TO `{table}`", old_name(table), new_name(table)))
        .collect();
    format!("RENAME TABLE {}", pairs.join(", "))
}

/// Returns when connection `id` waits for the tables.
fn wait_for_rename(
    place: &Place,
    control: &mut Control,
    id: u32,
    is_finished: &dyn Fn() -> bool,
) -> Result<(), DataError> {
    let clock = Clock::start();
    let sql = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    while clock.now() < Nanos::from_secs(LOCK_WAIT_SECONDS.into()) && !is_finished() {
        if control
            .query_value(&sql)?
            .is_some_and(|state| state.starts_with("Waiting for table metadata lock"))
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(DataError::TablesBusy { database: place.database.clone() })
}

fn busy(place: &Place, error: TargetError) -> DataError {
    match error.code() {
        Some(LOCK_WAIT_TIMEOUT) => DataError::TablesBusy { database: place.database.clone() },
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_change_places_in_one_statement() {
        assert_eq!(
            rename(&["a", "b"]),
            "RENAME TABLE `a` TO `a_evenkeel_old`, `a_evenkeel_new` TO `a`, \
             `b` TO `b_evenkeel_old`, `b_evenkeel_new` TO `b`"
        );
    }

    #[test]
    fn leftovers_are_known_by_their_names() {
        assert!(is_leftover(&new_name("item")) && is_leftover(&old_name("item")));
        assert!(is_old(&old_name("item")) && !is_old(&new_name("item")));
        assert!(!is_leftover("item"));
    }
}
