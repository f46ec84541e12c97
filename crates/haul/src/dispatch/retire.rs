//! Day tables that are too old are dropped.

use super::journal::{self, JOURNAL};
use super::source::exists;
use super::{Day, DispatchError, NamePattern, Progress, source};
use crate::table::{folded, literal, quoted};
use evenkeel_site::server::Control;
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct Retire {
    pub table: String,
    pub names: NamePattern,
    /// How many days before today stay.
    pub keep_days: u32,
    /// What today is; the newest day with records, or the server's today where that is earlier, if nobody says.
    pub today: Option<Day>,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Retired {
    pub today: Day,
    pub first_kept: Day,
    pub dry_run: bool,
    /// Tables that were dropped, or would be; the oldest first.
    pub dropped: Vec<RetiredTable>,
    /// Tables that are old enough and called so, and stay nevertheless.
    pub refused: Vec<RetiredTable>,
    pub kept: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct RetiredTable {
    pub table: String,
    pub day: Day,
    /// Records in it when it was dropped; of one that stays for another reason than their number they are not counted.
    pub records: u64,
    /// Bytes of its data and indexes, as the server estimates them.
    pub bytes: u64,
    pub refused: Option<String>,
}

/// Drops day tables that are too old, one after the other. Only those that a dispatch of this source has made are dropped.
/// Errors: what the server said; what was dropped before is.
pub fn retire(
    control: &mut Control,
    job: &Retire,
    report: &mut dyn FnMut(&Progress),
) -> Result<Retired, DispatchError> {
    if !exists(control, JOURNAL)? {
        return Err(DispatchError::Unfit {
            table: JOURNAL.to_owned(),
            what: "is not there: nothing was dispatched in this database".to_owned(),
            hint: "name the database of the day tables in the URL",
        });
    }
    source::settle(control)?;
    let (table, names) = (folded(control, &job.table)?, job.names.folded(control)?);
    let job = &Retire { table, names, ..job.clone() };
    if !exists(control, &job.table)? {
        return Err(DispatchError::NoTable(job.table.clone()));
    }
    source::lock(control, &job.table)?;
    forget_missing(control)?;
    let today = match job.today {
        Some(today) => today,
        None => today_by_records(control, &job.table)?,
    };
    let first_kept = Day::of_number(today.number() - i64::from(job.keep_days));
    let mut retired = Retired {
        today,
        first_kept,
        dry_run: job.dry_run,
        dropped: Vec::new(),
        refused: Vec::new(),
        kept: 0,
    };
    for (day, table, bytes) in day_tables(control, &job.names)? {
        if day >= first_kept {
            retired.kept += 1;
            continue;
        }
        let mut found = RetiredTable { table, day, records: 0, bytes, refused: None };
        found.refused = refusal(control, job, &mut found)?;
        if found.refused.is_some() {
            retired.refused.push(found);
            continue;
        }
        if !job.dry_run {
            report(&Progress::Step(format!("dropping {}", found.table)));
            let there = journal::there(control, &found.table)?;
            control.exec(&format!("UPDATE {JOURNAL} SET way = 'retire' WHERE {there}"))?;
            control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&found.table)))?;
            control.exec(&format!(
                "UPDATE {JOURNAL} SET state = 'retired' WHERE table_name = {} AND state = 'done'",
                literal(found.table.as_bytes())
            ))?;
        }
        retired.dropped.push(found);
    }
    Ok(retired)
}

/// A table that is gone is nobody's, whichever sources it had records of: another one of the same name would be somebody else's.
fn forget_missing(control: &mut Control) -> Result<(), DispatchError> {
    control.exec(&format!(
        "UPDATE {JOURNAL} SET state = 'retired' WHERE state = 'done' AND NOT EXISTS \
         (SELECT 1 FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = DATABASE() \
         AND t.TABLE_NAME = {JOURNAL}.table_name COLLATE utf8mb4_bin)"
    ))?;
    Ok(())
}

/// The newest day of which there are records, or the server's today where that is earlier: neither a record with a date far
/// ahead nor a source that brings nothing any more makes all tables too old. Days beyond tomorrow and days with less than a hundredth of
/// the records of the fullest day do not say what today is, for a wrong date is in a few records; without them a single one would hide
/// that the source is silent.
fn today_by_records(control: &mut Control, source: &str) -> Result<Day, DispatchError> {
    let days = format!(
        "SELECT day, SUM(records) AS records FROM {JOURNAL} WHERE source = {} AND state = 'done' AND records > 0 \
         AND day <= CURRENT_DATE + INTERVAL 1 DAY GROUP BY day",
        literal(source.as_bytes())
    );
    let value = control.query_value(&format!(
        "SELECT LEAST(CURRENT_DATE, COALESCE(MAX(day), CURRENT_DATE)) FROM ({days}) AS each_day \
         WHERE 100 * records >= (SELECT MAX(records) FROM ({days}) AS all_days)"
    ))?;
    value.as_deref().and_then(Day::parse).ok_or_else(|| DispatchError::Unfit {
        table: JOURNAL.to_owned(),
        what: format!("has no day for {source}"),
        hint: "say --today yyyymmdd",
    })
}

fn day_tables(control: &mut Control, names: &NamePattern) -> Result<Vec<(Day, String, u64)>, DispatchError> {
    let rows = control.query(
        "SELECT TABLE_NAME, COALESCE(DATA_LENGTH, 0) + COALESCE(INDEX_LENGTH, 0) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE()",
    )?;
    let table = |row: &Vec<Option<String>>| {
        let name = row[0].clone()?;
        Some((names.day(&name)?, name, journal::number(row[1].clone())))
    };
    let mut tables: Vec<_> = rows.rows.iter().filter_map(table).collect();
    tables.sort();
    Ok(tables)
}

/// Why a table that is old enough stays. What goes is counted, since it is nowhere else afterwards, and because a table that was put in the
/// place of one that a dispatch has made has its name and hardly ever its number of records.
fn refusal(
    control: &mut Control,
    job: &Retire,
    found: &mut RetiredTable,
) -> Result<Option<String>, DispatchError> {
    let (source, table) = (&job.table, &found.table);
    if !journal::is_ours(control, source, table)? {
        return Ok(Some(format!("no dispatch of {source} has made it")));
    }
    let open = control.query_value(&format!(
        "SELECT 1 FROM {JOURNAL} WHERE table_name = {} AND state = 'begun' LIMIT 1",
        literal(table.as_bytes())
    ))?;
    if open.is_some() {
        return Ok(Some("a dispatch to it was cut: run evenkeel cdr dispatch first".to_owned()));
    }
    found.records = journal::count(control, table, "TRUE")?;
    let moved = journal::moved_to(control, table)?;
    let differs = found.records != moved;
    Ok(differs.then(|| {
        format!(
            "it has {} records, and {moved} were dispatched to it: somebody changed or replaced it; look at it, and drop it by DROP TABLE (cdr audit then calls its records lost)",
            found.records
        )
    }))
}
