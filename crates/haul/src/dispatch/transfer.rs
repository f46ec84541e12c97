//! Records move with transactions: copied, deleted and counted in one.

use super::again::{self, Parted};
use super::journal::{self, Entry, JOURNAL};
use super::which::Which;
use super::work::Work;
use super::{Day, DayDone, DispatchError, source};
use crate::table::quoted;
use evenkeel_site::server::TargetError;

/// A key that the day table has already (ER_DUP_ENTRY).
const DUPLICATE: u16 = 1062;
/// Two transactions that wait for each other (ER_LOCK_DEADLOCK); one of them is to begin again.
const DEADLOCK: u16 = 1213;
/// How often that may come before it is an error.
const DEADLOCKS_MAX: u32 = 5;

/// Closes what a dispatch that was cut left open: what it moved is in the day tables, and what it did not is in the source.
pub(super) fn go_on(work: &mut Work<'_>) -> Result<(), DispatchError> {
    for entry in journal::begun(work.control, &work.job.table)? {
        work.done.resumed = true;
        again::tidy_up(work)?;
        if source::shape(work.control, &entry.table)?.is_none() {
            // What it moved before the table was dropped stays counted.
            let sql = match entry.records {
                0 => format!("DELETE FROM {JOURNAL} WHERE id = {}", entry.id),
                _ => format!("UPDATE {JOURNAL} SET state = 'retired' WHERE id = {}", entry.id),
            };
            work.control.exec(&sql)?;
            continue;
        }
        if entry.created {
            work.add_indexes(&entry.table)?;
        }
        work.close(entry.id)?;
        let Entry { day, table, records, created, .. } = entry;
        work.finished(DayDone { day, table, records, created, stayed: 0, refused: None });
    }
    Ok(())
}

/// Moves the records of these days.
pub(super) fn days(work: &mut Work<'_>, left: Vec<(Day, u64)>) -> Result<(), DispatchError> {
    for (day, records) in left {
        let table = work.table(day);
        let created = source::shape(work.control, &table)?.is_none();
        if !created {
            work.ready(&table)?;
        }
        let source = work.job.table.clone();
        let entry = journal::begin(work.control, (&source, &work.by.column), (day, &table), created)?;
        work.ready(&table)?;
        let Moved { moved, stayed, refused } = parts(work, &entry, records)?;
        if created {
            work.add_indexes(&table)?;
        }
        work.close(entry.id)?;
        work.finished(DayDone { day, table, records: moved, created, stayed, refused });
    }
    Ok(())
}

#[derive(Default)]
struct Moved {
    moved: u64,
    stayed: u64,
    refused: Option<String>,
}

/// Moves the records of a day part by part.
fn parts(work: &mut Work<'_>, entry: &Entry, records: u64) -> Result<Moved, DispatchError> {
    let (mut all, mut alike) = (Moved::default(), 0);
    for which in Which::parts(entry.day, &work.by, records, work.job.batch) {
        match attempt(work, &mut |work| once(work, entry, &which)) {
            Ok(count) => all.moved += count,
            Err(error) if is_duplicate(&error) => match part_again(work, entry, &which)? {
                Some(parted) => {
                    all.moved += parted.moved;
                    all.stayed += parted.stayed;
                }
                None => alike += journal::count(work.control, &work.job.table, &which.sql(&work.by))?,
            },
            Err(other) => return Err(other),
        }
        let (table, records) = (entry.table.clone(), work.done.records + all.moved);
        (work.report)(&super::Progress::Moving { table, records, total: work.total });
    }
    let mut reasons = Vec::new();
    if all.stayed > 0 {
        reasons.push(again::reason(work, &entry.table, all.stayed)?);
    }
    if alike > 0 {
        reasons.push(format!("{alike} records, among which some have one key by {}", entry.table));
    }
    all.stayed += alike;
    all.refused = (!reasons.is_empty()).then(|| reasons.join("; "));
    Ok(all)
}

/// The same for a part with keys that are there already; `None` where it stays as a whole, since two of its own records have one key.
fn part_again(work: &mut Work<'_>, entry: &Entry, which: &Which) -> Result<Option<Parted>, DispatchError> {
    match attempt(work, &mut |work| again::others(work, entry, which)) {
        Err(error) if is_duplicate(&error) => Ok(None),
        outcome => outcome,
    }
}

fn is_duplicate(error: &DispatchError) -> bool {
    matches!(error, DispatchError::Server(TargetError::Statement { code: DUPLICATE, .. }))
}

/// One transaction, again where another one was in its way.
fn attempt<T>(
    work: &mut Work<'_>,
    transaction: &mut dyn FnMut(&mut Work<'_>) -> Result<T, DispatchError>,
) -> Result<T, DispatchError> {
    let mut deadlocks = 0;
    loop {
        let outcome = transaction(work);
        if outcome.is_err() {
            // Where the connection is lost the server has rolled back by itself.
            let _ = work.control.exec("ROLLBACK");
        }
        match outcome {
            Err(DispatchError::Server(TargetError::Statement { code: DEADLOCK, .. }))
                if deadlocks < DEADLOCKS_MAX =>
            {
                deadlocks += 1;
            }
            outcome => return outcome,
        }
    }
}

fn once(work: &mut Work<'_>, entry: &Entry, which: &Which) -> Result<u64, DispatchError> {
    let source = work.job.table.clone();
    work.control.exec("START TRANSACTION")?;
    let copied = work.copy(&source, which, &entry.table)?;
    let sql = format!("DELETE FROM {} WHERE {}", quoted(&source), which.sql(&work.by));
    let deleted = work.control.exec(&sql)?;
    if copied != deleted {
        let what = format!("{copied} records were copied and {deleted} would be deleted");
        return Err(DispatchError::Disagree { table: source, what });
    }
    work.control.exec(&journal::moved_sql(entry.id, copied))?;
    work.control.exec("COMMIT")?;
    Ok(copied)
}
