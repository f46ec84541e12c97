//! Partitions become tables.
//!
//! MariaDB from 10.7 on has `CONVERT PARTITION ... TO TABLE`, one statement that is done or not done; it is taken where there is no
//! day table. Where there is an empty one, and on other servers, `EXCHANGE PARTITION` does it. A source that is not partitioned is
//! made so, by one copy of its rows. `REORGANIZE PARTITION` would copy those of the last partition alone, but MariaDB 10.11 puts
//! all rows of a DEFAULT partition into the new one, whatever their day; so it is not used, and what a partition
//! holds is looked at before it becomes a day's table.

use super::journal;
use super::which::Which;
use super::work::Work;
use super::{Day, DayDone, DispatchError, Method, source};
use crate::table::{literal, quoted};
use evenkeel_site::server::{Control, Flavor};

/// The partition for records without a date.
const UNDATED: &str = "undated";
/// The partition for all other days.
const REST: &str = "rest";

/// Makes tables of partitions; returns the days for which that cannot be done, each with the reason.
pub(super) fn exchange(
    work: &mut Work<'_>,
    days: Vec<(Day, u64)>,
) -> Result<Vec<(Day, u64, Option<String>)>, DispatchError> {
    let (mut wanted, mut left) = (Vec::new(), Vec::new());
    for (day, records) in days {
        let table = work.table(Some(day));
        match source::shape(work.control, &table)? {
            Some(_) if has_records(work.control, &table)? => {
                left.push((day, records, Some(format!("{table} had records already"))));
            }
            _ => wanted.push((day, records)),
        }
    }
    if wanted.is_empty() {
        return Ok(left);
    }
    let mut parts = partition_by_day(work, &wanted)?;
    for (day, records) in wanted {
        let reason = match parts.remove(&day) {
            None => Some(format!("{} has no partition for this day alone", work.job.table)),
            Some(part) => become_table(work, day, &part)?,
        };
        if let Some(reason) = reason {
            left.push((day, records, Some(reason)));
        }
    }
    left.sort_by_key(|(day, ..)| *day);
    Ok(left)
}

fn has_records(control: &mut Control, table: &str) -> Result<bool, DispatchError> {
    Ok(control.query_value(&format!("SELECT 1 FROM {} LIMIT 1", quoted(table)))?.is_some())
}

type Parts = std::collections::BTreeMap<Day, String>;

/// Partitions that hold one day each, of a source that has them or gets them.
fn partition_by_day(work: &mut Work<'_>, wanted: &[(Day, u64)]) -> Result<Parts, DispatchError> {
    let expression = format!("to_days({})", quoted(&work.by.column));
    let is_by_day = match &work.source.partitioned {
        None => false,
        Some((method, by))
            if by.eq_ignore_ascii_case(&expression) && matches!(method.as_str(), "LIST" | "RANGE") =>
        {
            true
        }
        Some((method, by)) => {
            return Err(DispatchError::Unfit {
                table: work.job.table.clone(),
                what: format!("is partitioned by {method} of {by}, not of {expression}"),
                hint: "partition it by day, or take --way insert",
            });
        }
    };
    let (parts, ours) = if is_by_day { read(work.control, &work.job.table)? } else { (Parts::new(), true) };
    if !ours || wanted.iter().all(|(day, _)| parts.contains_key(day)) {
        return Ok(parts);
    }
    partition(work, wanted)?;
    Ok(read(work.control, &work.job.table)?.0)
}

/// The partitions of one day each, and whether the partitions are those that we make.
fn read(control: &mut Control, table: &str) -> Result<(Parts, bool), DispatchError> {
    let rows = control.query(&format!(
        "SELECT PARTITION_NAME, PARTITION_METHOD, PARTITION_DESCRIPTION FROM information_schema.PARTITIONS \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} ORDER BY PARTITION_ORDINAL_POSITION",
        literal(table.as_bytes())
    ))?;
    let (mut parts, mut before, mut names) = (Parts::new(), None, Vec::new());
    for row in rows.rows {
        let [name, method, value] = [0, 1, 2].map(|place| row[place].clone().unwrap_or_default());
        let number: Option<i64> = value.parse().ok().filter(|number| *number > 0);
        let day = match method.as_str() {
            "LIST" => number,
            // Below this day and not below the one before it.
            _ => number.map(|number| number - 1).filter(|day| before == Some(*day)),
        };
        before = number;
        if let Some(day) = day {
            parts.insert(Day::of_number(day), name.clone());
        }
        names.push(name);
    }
    let ours = [UNDATED, REST].iter().all(|name| names.iter().any(|there| there == name));
    Ok((parts, ours))
}

/// Partitions the source by day: one partition for each of these days, one for records without a date, one for the rest.
fn partition(work: &mut Work<'_>, wanted: &[(Day, u64)]) -> Result<(), DispatchError> {
    let (table, column) = (work.job.table.clone(), work.by.column.clone());
    let unfit = |what, hint| Err(DispatchError::Unfit { table: table.clone(), what, hint });
    if work.control.version().flavor != Flavor::MariaDb {
        return unfit(
            "is not partitioned by day".to_owned(),
            "partition it by RANGE (TO_DAYS(...)) with a partition for each day",
        );
    }
    let has_it = |key: &&Vec<String>| key.iter().any(|name| name.eq_ignore_ascii_case(&column));
    if let Some(key) = work.source.create.unique_keys().iter().find(|key| !has_it(key)) {
        let what = format!(
            "has the unique key ({}) without {column}, which no table partitioned by it can have",
            key.join(", ")
        );
        return unfit(what, "add the column to the key, or take --way insert");
    }
    (work.report)(&super::Progress::Step(format!("partitioning {table} by day")));
    let parts: Vec<String> = wanted
        .iter()
        .map(|(day, _)| format!("PARTITION d{} VALUES IN ({})", day.compact(), day.number()))
        .collect();
    work.control.exec(&format!(
        "ALTER TABLE {} PARTITION BY LIST (TO_DAYS({})) (PARTITION {UNDATED} VALUES IN (NULL), {}, PARTITION {REST} DEFAULT)",
        quoted(&table),
        quoted(&column),
        parts.join(", ")
    ))?;
    work.done.partitioned = true;
    Ok(())
}

/// Makes the day's table of a partition; the reason where that cannot be.
fn become_table(work: &mut Work<'_>, day: Day, part: &str) -> Result<Option<String>, DispatchError> {
    let (source, table) = (work.job.table.clone(), work.table(Some(day)));
    let which = Which::of(Some(day), &work.by).sql(&work.by);
    let strangers = work.control.query_value(&format!(
        "SELECT COUNT(*) FROM {} PARTITION ({}) WHERE NOT COALESCE({which}, FALSE)",
        quoted(&source),
        quoted(part)
    ))?;
    if strangers.as_deref() != Some("0") {
        return Ok(Some(format!("partition {part} has records of other days")));
    }
    let created = source::shape(work.control, &table)?.is_none();
    if !created {
        work.ready(&table)?;
    }
    let way = Method::Exchange;
    let entry = journal::begin(work.control, (0, &source), (Some(day), &table), (way.name(), created))?;
    let (from, part, to) = (quoted(&source), quoted(part), quoted(&table));
    if created && can_convert(work.control) {
        work.control.exec(&format!("ALTER TABLE {from} CONVERT PARTITION {part} TO TABLE {to}"))?;
    } else {
        if created {
            let sql = work.source.create.day_table(&table, true);
            work.control.exec(&sql)?;
        }
        work.control.exec(&format!("ALTER TABLE {from} EXCHANGE PARTITION {part} WITH TABLE {to}"))?;
    }
    let records = journal::count(work.control, &table, "TRUE")?;
    work.close(entry.id, &format!(", records = {records}"))?;
    let day = Some(day);
    work.finished(DayDone { day, table, records, way, created, note: None, stayed: 0, refused: None });
    Ok(None)
}

fn can_convert(control: &Control) -> bool {
    let version = control.version();
    version.flavor == Flavor::MariaDb && version.numbers >= (10, 7, 0)
}
