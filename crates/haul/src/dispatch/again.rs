//! Records whose key is in their day table already: they stay in the source, and the others of their part go.
//!
//! What goes is set aside first, in the same transaction, because once it is in the day table nothing tells it from what was there.

use super::DispatchError;
use super::journal::{self, Entry};
use super::source::{KeyPart, unique_keys};
use super::which::Which;
use super::work::Work;
use crate::table::quoted;
use xxhash_rust::xxh3::xxh3_64;

/// Records of a part that went, and those that stayed.
pub(super) struct Parted {
    pub moved: u64,
    pub stayed: u64,
}

/// Moves those records of a part whose keys the day table has not, in one transaction; `None` where no condition tells them apart.
pub(super) fn others(
    work: &mut Work<'_>,
    entry: &Entry,
    which: &Which,
) -> Result<Option<Parted>, DispatchError> {
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
pub(super) fn tidy_up(work: &mut Work<'_>) -> Result<(), DispatchError> {
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
pub(super) fn reason(work: &mut Work<'_>, table: &str, stayed: u64) -> Result<String, DispatchError> {
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
