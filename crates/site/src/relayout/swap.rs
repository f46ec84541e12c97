//! A copy and its table change names.
//!
//! A connection asks for the renaming of both and waits at the server for the one that holds the table; only then is that lock given up.
//! A server lets a waiting renaming in before all who wait to write.

use super::session::{explained, prepare};
use super::{Relayout, RelayoutError};
use crate::server::{Control, TargetError, quoted};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use std::time::Duration;

/// A renaming that does not come to wait within this time is not waited for.
const PATIENCE: Nanos = Nanos::from_secs(20);

/// Has another connection rename both tables, and lets go of the table once it waits for that.
///
/// # Errors
/// Both have their names still.
pub(super) fn swap(
    holder: &mut Control,
    job: &Relayout<'_>,
    (table, copy, before): (&str, &str, &str),
) -> Result<(), RelayoutError> {
    let mut renamer = Control::connect_until(job.target, job.stop)?;
    prepare(&mut renamer)?;
    let mut observer = Control::connect_until(job.target, job.stop)?;
    // A lock that went with its connection holds nobody back.
    holder.exec("DO 1")?;
    let id = renamer.id();
    let sql = format!(
        "RENAME TABLE {} TO {}, {} TO {}",
        quoted(table),
        quoted(before),
        quoted(copy),
        quoted(table)
    );
    let renamed = std::thread::scope(|scope| {
        let renaming = scope.spawn(move || renamer.exec(&sql));
        let waits = await_renaming(&mut observer, id, || renaming.is_finished());
        if !waits && !renaming.is_finished() {
            // It must not come to its turn once the lock is gone.
            let _ = observer.exec(&format!("KILL {id}"));
        }
        // Where this fails the lock is gone with its connection.
        let _ = holder.exec("UNLOCK TABLES");
        renaming.join().unwrap_or(Err(TargetError::Stopped))
    });
    match renamed {
        Ok(_) => Ok(()),
        // The answer may be lost of a renaming that was done.
        Err(_) if is_swapped(job, copy, before) => Ok(()),
        Err(error) => Err(explained(error, table)),
    }
}

/// Whether the renaming waits for the table; false where it has ended, or does not come that far.
fn await_renaming(observer: &mut Control, id: u32, is_over: impl Fn() -> bool) -> bool {
    let sql = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
    let begin = monotonic();
    while !is_over() && monotonic() - begin < PATIENCE {
        match observer.query_value(&sql) {
            Ok(state)
                if state.as_deref().unwrap_or_default().starts_with("Waiting for table metadata lock") =>
            {
                return true;
            }
            Ok(_) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return false,
        }
    }
    false
}

/// Whether the copy has lost its name and the old table has got its other one.
fn is_swapped(job: &Relayout<'_>, copy: &str, before: &str) -> bool {
    let Ok(mut control) = Control::connect_to_finish(job.target, job.stop) else { return false };
    let mut is_there = |table: &str| {
        let sql = format!("SELECT 1 FROM {} LIMIT 0", quoted(table));
        control.query(&sql).is_ok()
    };
    is_there(before) && !is_there(copy)
}
