//! Records move with transactions: copied, deleted and counted in one.

use super::job::Which;
use super::journal::{Entry, JOURNAL};
use super::source::{KeyPart, unique_keys};
use super::work::Work;
use super::{Day, DayDone, DispatchError, journal, source};
use crate::table::quoted;
use evenkeel_site::server::TargetError;
use xxhash_rust::xxh3::xxh3_64;

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
        tidy_up(work)?;
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
        reasons.push(reason(work, &entry.table, all.stayed)?);
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
    match attempt(work, &mut |work| others(work, entry, which)) {
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

// Records whose key is in their day table already: they stay in the source, and the others of their part go.
//
// What goes is set aside first, in the same transaction, because once it is in the day table nothing tells it from what was there.

/// Records of a part that went, and those that stayed.
pub(super) struct Parted {
    pub moved: u64,
    pub stayed: u64,
}

/// Moves those records of a part whose keys the day table has not, in one transaction; `None` where no condition tells them apart.
fn others(work: &mut Work<'_>, entry: &Entry, which: &Which) -> Result<Option<Parted>, DispatchError> {
    let keys = unique_keys(work.control, &entry.table)?;
    let Some(is_there) = is_there(&keys, &entry.table) else { return Ok(None) };
    let aside = aside(&work.job.table);
    tidy_up(work)?;
    work.control.exec(&work.source.create.day_table(&aside))?;
    let parted = part(work, (entry, which), (&aside, &is_there));
    if parted.is_err() {
        // Where the connection is lost the server has rolled back by itself.
        let _ = work.control.exec("ROLLBACK");
    }
    // It is empty whatever came of the transaction. Where it cannot be dropped now, the next one that needs it does so.
    let _ = work.control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&aside)));
    parted.map(Some)
}

/// Drops what a dispatch that was killed has left, which is empty outside of a transaction.
fn tidy_up(work: &mut Work<'_>) -> Result<(), DispatchError> {
    let aside = quoted(&aside(&work.job.table));
    Ok(work.control.exec(&format!("DROP TABLE IF EXISTS {aside}")).map(drop)?)
}

fn part(
    work: &mut Work<'_>,
    (entry, which): (&Entry, &Which),
    (aside, is_there): (&str, &str),
) -> Result<Parted, DispatchError> {
    let (source, list) = (work.job.table.clone(), work.source.list());
    let goes = format!("FROM {} AS s WHERE {} AND NOT ({is_there})", quoted(&source), which.sql(&work.by));
    let disagree = |copied, deleted| DispatchError::Disagree {
        table: source.clone(),
        what: format!("{copied} records were copied and {deleted} would be deleted"),
    };
    work.control.exec("START TRANSACTION")?;
    let kept = work.control.exec(&format!("INSERT INTO {} ({list}) SELECT {list} {goes}", quoted(aside)))?;
    let deleted = work.control.exec(&format!("DELETE s {goes}"))?;
    if kept != deleted {
        return Err(disagree(kept, deleted));
    }
    let moved = work.copy(aside, which, &entry.table)?;
    let gone = work.control.exec(&format!("DELETE FROM {}", quoted(aside)))?;
    if moved != deleted || gone != moved {
        return Err(disagree(moved, deleted));
    }
    let stayed = journal::count(work.control, &source, &which.sql(&work.by))?;
    work.control.exec(&journal::moved_sql(entry.id, moved))?;
    work.control.exec("COMMIT")?;
    Ok(Parted { moved, stayed })
}

/// Which records stay and why: without their values, which do not belong into logs.
fn reason(work: &mut Work<'_>, table: &str, stayed: u64) -> Result<String, DispatchError> {
    let columns =
        |key: &Vec<KeyPart>| key.iter().map(|(column, _)| column.as_str()).collect::<Vec<_>>().join(", ");
    let keys = unique_keys(work.control, table)?;
    let keys = keys.iter().map(|key| format!("({})", columns(key))).collect::<Vec<_>>().join(" or ");
    let records = if stayed == 1 { "record" } else { "records" };
    let which = format!("{stayed} {records}, whose key {keys} is in {table} already");
    let source = &work.job.table;
    Ok(format!("{which}: compare them with {table} first; delete from {source} only those that are equal"))
}

/// A name as short as any table's.
fn aside(source: &str) -> String {
    format!("evenkeel_aside_{:016x}", xxh3_64(source.as_bytes()))
}

/// The condition that a row `s` has a key of the day table; `None` where there is no key, or one of more than columns.
fn is_there(keys: &[Vec<KeyPart>], table: &str) -> Option<String> {
    let alike = |(column, length): &KeyPart| {
        let (ours, theirs) = (format!("s.{}", quoted(column)), format!("d.{}", quoted(column)));
        match length {
            None => format!("{theirs} = {ours}"),
            Some(length) => format!("LEFT({theirs}, {length}) = LEFT({ours}, {length})"),
        }
    };
    let exists = |key: &Vec<KeyPart>| {
        let all = key.iter().map(alike).collect::<Vec<_>>().join(" AND ");
        format!("EXISTS (SELECT 1 FROM {} AS d WHERE {all})", quoted(table))
    };
    let is_plain = !keys.is_empty() && keys.iter().all(|key| !key.is_empty());
    is_plain.then(|| keys.iter().map(exists).collect::<Vec<_>>().join(" OR "))
}
