//! Records move without transactions: the source is renamed, so that it does not change any more, and is dropped once all of its
//! records are known to be in the day tables.
//!
//! ```text
//! T --rename--> evenkeel_taken_T --fill--> T_20260801, T_20260731, ...   then evenkeel_taken_T is dropped
//! evenkeel_next_T (like T, with the records that have no date) --rename--> T
//! ```

use super::fill::{fill, refuse_others, tidy_up};
use super::journal::{self, State};
use super::names::{Names, exists};
use super::sum::mend;
use super::which::Which;
use super::work::Work;
use super::{Day, DayDone, DispatchError, Progress, source};
use crate::load::dispatched;
use crate::table::{literal, quoted};
use evenkeel_site::server::Control;

/// Characters of a source's name at most, so that the names made of it are some.
const LONGEST: usize = 49;

/// Servers that rename one table after the other may be killed in between: the source has no name then.
pub(super) fn put_source_back(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let Names { taken, next, .. } = Names::of(table);
    if !exists(control, table)? && exists(control, &taken)? && exists(control, &next)? {
        control.exec(&format!("RENAME TABLE {} TO {}", quoted(&next), quoted(table)))?;
    }
    Ok(())
}

/// Goes on with what was taken and not dispatched.
pub(super) fn go_on(work: &mut Work<'_>) -> Result<(), DispatchError> {
    if exists(work.control, &Names::of(&work.job.table).taken)? {
        work.done.resumed = true;
        mend(work.control, &Names::of(&work.job.table).taken)?;
        return finish(work);
    }
    // Either nothing was taken yet, or all of it was dispatched and dropped.
    if let Some(take) = open_take(work)? {
        work.close(take.id, "")?;
    }
    Ok(())
}

/// Takes the source and dispatches its records, once all that can be refused has been looked for.
pub(super) fn days(work: &mut Work<'_>, left: &[(Day, u64)]) -> Result<(), DispatchError> {
    if work.job.table.chars().count() > LONGEST {
        return Err(DispatchError::Unfit {
            table: work.job.table.clone(),
            what: format!("has a name of more than {LONGEST} characters and no transactions"),
            hint: "rename it, or make it InnoDB",
        });
    }
    refuse_late_journal(work)?;
    for (day, _) in left {
        let table = work.table(*day);
        if exists(work.control, &table)? {
            work.ready(&table)?;
            refuse_others(work, &table)?;
            refuse_keys_that_come_again(work, *day, &table)?;
        }
    }
    take(work)?;
    finish(work)
}

/// The journal, which has transactions, is to be on its way to the disk before the records are.
fn refuse_late_journal(work: &mut Work<'_>) -> Result<(), DispatchError> {
    let flush = work.control.query_value("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")?;
    if flush.as_deref() != Some("0") {
        return Ok(());
    }
    Err(DispatchError::Unfit {
        table: work.job.table.clone(),
        what: "has no transactions, and the server writes its journal up to a second later".to_owned(),
        hint: "SET GLOBAL innodb_flush_log_at_trx_commit = 2, or 1",
    })
}

/// Without transactions a key that is there already would end a copy in its middle, so that it is looked for first.
fn refuse_keys_that_come_again(work: &mut Work<'_>, day: Day, table: &str) -> Result<(), DispatchError> {
    let (source, which) = (quoted(&work.job.table), Which::of(day, &work.by).sql(&work.by));
    for key in source::unique_keys(work.control, table)?.into_iter().filter(|key| !key.is_empty()) {
        let key: Vec<String> = key.into_iter().map(|(column, _)| column).collect();
        let using: Vec<String> = key.iter().map(|column| quoted(column)).collect();
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT {columns} FROM {source} WHERE {which}) AS late JOIN {} AS there USING ({columns})",
            quoted(table),
            columns = using.join(", ")
        );
        let again = journal::number(work.control.query_value(&sql)?);
        if again > 0 {
            return Err(DispatchError::Unfit {
                table: table.to_owned(),
                what: format!(
                    "has {again} records whose {} comes again in {}",
                    key.join(", "),
                    work.job.table
                ),
                hint: "they were loaded twice, or are other records of the same key: take them out of the source",
            });
        }
    }
    Ok(())
}

/// The source gets another name, and an empty one like it has its own.
fn take(work: &mut Work<'_>) -> Result<(), DispatchError> {
    let (table, names) = (work.job.table.clone(), Names::of(&work.job.table));
    (work.report)(&Progress::Step(format!("taking the records of {table}")));
    let [taken, next] = [&names.taken, &names.next].map(|name| quoted(name));
    work.control.exec(&format!("DROP TABLE IF EXISTS {next}"))?;
    // Partitions may have changed since the source was looked at.
    let shape = source::shape(work.control, &table)?.ok_or_else(|| DispatchError::NoTable(table.clone()))?;
    work.control.exec(&shape.create.twin(&names.next))?;
    let undated = work.copy(&table, &Which::Undated, &names.next)?;
    work.control.exec(&format!(
        "INSERT INTO {} (source, by_column, table_name, way, state, created, records, begun_at) \
         VALUES ({}, {}, {}, 'take', 'begun', 0, {undated}, NOW())",
        journal::JOURNAL,
        literal(table.as_bytes()),
        literal(work.by.column.as_bytes()),
        literal(names.taken.as_bytes())
    ))?;
    let source = quoted(&table);
    work.control.exec(&format!("RENAME TABLE {source} TO {taken}, {next} TO {source}"))?;
    Ok(())
}

/// Marks in the manifest of loads what was taken, once: whoever comes first after the renaming, a dispatch or a load. No load
/// puts rows into the new source before.
pub(super) fn tell_manifest(control: &mut Control, source: &str) -> Result<(), DispatchError> {
    if !exists(control, &Names::of(source).taken)? || !dispatched::is_there(control)? {
        return Ok(());
    }
    let journal = journal::JOURNAL;
    let take = control.query_value(&format!(
        "SELECT id FROM {journal} WHERE source = {} AND way = 'take' AND state = 'begun' ORDER BY id DESC LIMIT 1",
        literal(source.as_bytes())
    ))?;
    let Some(take) = take else { return Ok(()) };
    control.exec("START TRANSACTION")?;
    control.exec(&dispatched::mark_sql(source))?;
    control.exec(&format!("UPDATE {journal} SET state = 'marked' WHERE id = {take}"))?;
    control.exec("COMMIT")?;
    Ok(())
}

/// Refuses to take rows of a load that was cut: they are taken out of the source when that file is loaded again.
pub(super) fn refuse_cut_load(work: &mut Work<'_>) -> Result<(), DispatchError> {
    let table = work.job.table.clone();
    if !dispatched::is_there(work.control)? {
        return Ok(());
    }
    match dispatched::cut_file(work.control, &table)? {
        Some(file) => Err(DispatchError::CutLoad { table, file }),
        None => Ok(()),
    }
}

struct Take {
    id: u64,
    /// How many records without a date went to the new source.
    stayed: u64,
    by: String,
}

fn open_take(work: &mut Work<'_>) -> Result<Option<Take>, DispatchError> {
    let rows = work.control.query(&format!(
        "SELECT id, records, by_column FROM {} WHERE source = {} AND way = 'take' AND state IN ('begun', 'marked') \
         ORDER BY id DESC LIMIT 1",
        journal::JOURNAL,
        literal(work.job.table.as_bytes())
    ))?;
    let number = |row: &[Option<String>], place: usize| journal::number(row[place].clone());
    let take = |row: &Vec<Option<String>>| Take {
        id: number(row, 0),
        stayed: number(row, 1),
        by: row[2].clone().unwrap_or_default(),
    };
    Ok(rows.rows.first().map(take))
}

/// Dispatches what was taken, and drops it once all of it is where it belongs.
fn finish(work: &mut Work<'_>) -> Result<(), DispatchError> {
    let Names { taken, .. } = Names::of(&work.job.table);
    let disagree = |what| DispatchError::Disagree { table: taken.clone(), what };
    tell_manifest(work.control, &work.job.table)?;
    let found = open_take(work)?.ok_or_else(|| disagree("the journal does not know of it".to_owned()))?;
    let Take { id: take, stayed, by } = found;
    if by != work.by.column {
        return Err(disagree(format!("its dispatch was begun by column {by}, not {}", work.by.column)));
    }
    let (days, undated) = work.days(&taken)?;
    if undated != stayed {
        let source = &work.job.table;
        let what = format!("it has {undated} records without a date, of which {stayed} are in {source}");
        return Err(disagree(what));
    }
    work.done.undated = stayed;
    let entries = journal::entries(work.control, &work.job.table, Some(take))?;
    for (day, _) in days {
        let before = entries.iter().find(|entry| entry.day == day).cloned();
        dispatch_day(work, take, day, before)?;
    }
    // A day that was done and has been dropped by age since has had its records too.
    let moved: u64 = journal::entries(work.control, &work.job.table, Some(take))?
        .iter()
        .filter(|entry| matches!(entry.state, State::Done | State::Retired))
        .map(|entry| entry.records)
        .sum();
    let all = journal::count(work.control, &taken, "TRUE")?;
    if moved + stayed != all {
        return Err(disagree(format!("it has {all} records, of which {moved} are in day tables")));
    }
    work.control.exec(&format!("DROP TABLE {}", quoted(&taken)))?;
    work.close(take, "")
}

fn dispatch_day(
    work: &mut Work<'_>,
    take: u64,
    day: Day,
    before: Option<journal::Entry>,
) -> Result<(), DispatchError> {
    let is_rerun = before.is_some();
    let entry = match before {
        Some(entry) => entry,
        None => {
            let (source, table) = (work.job.table.clone(), work.table(day));
            let created = source::shape(work.control, &table)?.is_none();
            journal::begin(work.control, (take, &source, &work.by.column), (day, &table), created)?
        }
    };
    let records = match entry.state {
        State::Begun | State::Filled => fill(work, &entry, is_rerun)?,
        State::Done | State::Retired => {
            tidy_up(work, &entry)?;
            entry.records
        }
    };
    let (table, created) = (entry.table, entry.created);
    work.finished(DayDone { day, table, records, created, stayed: 0, refused: None });
    Ok(())
}
