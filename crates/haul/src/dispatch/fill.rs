//! A day's records without transactions: a new table takes the old rows of the day table and the new ones, is compared with both, and is
//! renamed to the day table.
//!
//! ```text
//! T_20260801 + records of evenkeel_taken_T --copy, compare--> evenkeel_fill_ID --rename--> T_20260801   (was: evenkeel_old_ID, dropped)
//! ```
//!
//! Until the rename the day table is as it was, so that a dispatch that was cut drops its table and begins again. The journal says `filled`
//! before the rename: where the filled table is gone then, it is the day table.

use super::journal::{self, Entry, State};
use super::lock::{lock, unlock};
use super::names::{Names, exists};
use super::sum::{Sum, mend, sum};
use super::which::Which;
use super::work::Work;
use super::{DispatchError, Progress};
use crate::table::quoted;

/// What the records of an entry go through.
struct Filling {
    /// The source, under the name that it was taken by.
    taken: String,
    which: Which,
    /// The table that is filled, and what the day table was.
    fill: String,
    old: String,
}

/// Brings the records of an entry into its day table; how many. `is_rerun` where an earlier dispatch may have begun it.
pub(super) fn fill(work: &mut Work<'_>, entry: &Entry, is_rerun: bool) -> Result<u64, DispatchError> {
    // The dispatch of another source may bring records of the same day.
    lock(work.control, &entry.table)?;
    let filling = Filling {
        taken: Names::of(&work.job.table).taken,
        which: Which::of(entry.day, &work.by),
        fill: format!("evenkeel_fill_{}", entry.id),
        old: old(entry),
    };
    let mut had = None;
    if !(is_rerun && is_renamed(work, entry, &filling)?) {
        had = fill_anew(work, entry, &filling)?;
        let (day, fill, old) = (quoted(&entry.table), quoted(&filling.fill), quoted(&filling.old));
        work.control.exec(&match had.is_some() {
            true => format!("RENAME TABLE {day} TO {old}, {fill} TO {day}"),
            false => format!("RENAME TABLE {fill} TO {day}"),
        })?;
    }
    let count = close(work, entry, &filling, had)?;
    unlock(work.control, &entry.table)?;
    Ok(count)
}

/// Drops what a dispatch left that was cut once an entry was done.
pub(super) fn tidy_up(work: &mut Work<'_>, entry: &Entry) -> Result<(), DispatchError> {
    work.control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&old(entry))))?;
    Ok(())
}

fn old(entry: &Entry) -> String {
    format!("evenkeel_old_{}", entry.id)
}

/// Whether a dispatch that was cut had renamed the filled table. A rename that the server did by half is undone.
fn is_renamed(work: &mut Work<'_>, entry: &Entry, filling: &Filling) -> Result<bool, DispatchError> {
    let is_there = exists(work.control, &entry.table)?;
    let is_half = !is_there && exists(work.control, &filling.old)?;
    if is_half {
        let sql = format!("RENAME TABLE {} TO {}", quoted(&filling.old), quoted(&entry.table));
        work.control.exec(&sql)?;
    }
    if is_there || is_half {
        mend(work.control, &entry.table)?;
    }
    let was_filled = is_there && entry.state == State::Filled && !exists(work.control, &filling.fill)?;
    Ok(was_filled && (entry.created || exists(work.control, &filling.old)?))
}

/// Fills a new table; the sum over the day table, whose rows are in it too, where there is one.
fn fill_anew(work: &mut Work<'_>, entry: &Entry, filling: &Filling) -> Result<Option<Sum>, DispatchError> {
    // In this order: without the table a state `filled` would say that it was renamed.
    work.control.exec(&journal::change(entry.id, State::Begun, ""))?;
    let (day, fill) = (quoted(&entry.table), quoted(&filling.fill));
    work.control.exec(&format!("DROP TABLE IF EXISTS {fill}"))?;
    let had = exists(work.control, &entry.table)?;
    let mut before = Sum::default();
    (work.report)(&Progress::Step(format!("filling {}", entry.table)));
    if had {
        work.ready(&entry.table)?;
        refuse_others(work, &entry.table)?;
        before = sum(work.control, &work.source, &entry.table, "TRUE")?;
        work.control.exec(&format!("CREATE TABLE {fill} LIKE {day}"))?;
        let list = work.source.list();
        work.control.exec(&format!("INSERT INTO {fill} ({list}) SELECT {list} FROM {day}"))?;
    } else {
        work.ready(&filling.fill)?;
    }
    work.copy(&filling.taken, &filling.which, &filling.fill)?;
    let expected = before.and(sum(work.control, &work.source, &filling.taken, &filling.which.sql(&work.by))?);
    let found = sum(work.control, &work.source, &filling.fill, "TRUE")?;
    if found != expected {
        let what = match found.count == expected.count {
            false => format!("it has {} records and should have {}", found.count, expected.count),
            true => format!("its {} records are not those that it should have", found.count),
        };
        return Err(DispatchError::Disagree { table: filling.fill.clone(), what });
    }
    if !had {
        work.add_indexes(&filling.fill)?;
    }
    let created = format!(", created = {}", u8::from(!had));
    work.control.exec(&journal::change(entry.id, State::Filled, &created))?;
    Ok(had.then_some(before))
}

/// Notes that the day table has the records. What it was is dropped, unless somebody wrote to it until the rename: `had` is its sum
/// before; after a dispatch that was cut, what it was and what is new are compared with what it is.
fn close(
    work: &mut Work<'_>,
    entry: &Entry,
    filling: &Filling,
    had: Option<Sum>,
) -> Result<u64, DispatchError> {
    let which = filling.which.sql(&work.by);
    let records = journal::count(work.control, &filling.taken, &which)?;
    if exists(work.control, &filling.old)? {
        let old = sum(work.control, &work.source, &filling.old, "TRUE")?;
        let is_as_it_was = match had {
            Some(had) => had == old,
            None => {
                let new = sum(work.control, &work.source, &filling.taken, &which)?;
                sum(work.control, &work.source, &entry.table, "TRUE")? == old.and(new)
            }
        };
        if !is_as_it_was {
            let what = format!(
                "somebody wrote to it while it was filled anew: what it was is kept as {}",
                filling.old
            );
            return Err(DispatchError::Disagree { table: entry.table.clone(), what });
        }
    }
    work.close(entry.id, &format!(", records = {records}"))?;
    tidy_up(work, entry)?;
    Ok(records)
}

/// Refuses a day table that others write to: what they write during the copy would be missing after the rename.
pub(super) fn refuse_others(work: &mut Work<'_>, table: &str) -> Result<(), DispatchError> {
    let unfit = |what, hint| Err(DispatchError::Unfit { table: table.to_owned(), what, hint });
    let there = journal::count(work.control, table, "TRUE")?;
    let moved = journal::moved(work.control, table)?;
    match there > moved {
        true => unfit(
            format!(
                "has {there} records, of which {moved} were dispatched to it: the others are somebody else's"
            ),
            "move them to another table, or use an InnoDB table as the source",
        ),
        false => Ok(()),
    }
}
