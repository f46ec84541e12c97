//! The journal: which records of which day went from where to where, and how far that is.
//!
//! A row is written before anything is done and says `done` once all of it is; it changes in the same transaction as the records. `way` is
//! `insert`; it is `retire` once `cdr retire` drops the day table, which tells its records from those of a table that somebody else
//! dropped. `retired` is the state of a row whose table is gone.

use super::source::exists;
use super::{Day, DispatchError};
use crate::table::{literal, quoted};
use evenkeel_site::server::{Control, TargetError};

/// The table of the journal, in the database of the source.
pub const JOURNAL: &str = "evenkeel_dispatches";
/// Tells a journal of this form from others.
const COMMENT: &str = "evenkeel dispatches 3";

#[derive(Clone, Debug)]
pub struct Entry {
    pub id: u64,
    pub day: Day,
    pub table: String,
    pub created: bool,
    pub records: u64,
}

/// Makes the journal where there is none.
pub fn open(control: &mut Control) -> Result<(), DispatchError> {
    control.exec(&format!(
        "CREATE TABLE IF NOT EXISTS {JOURNAL} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  source VARCHAR(64) NOT NULL,
  by_column VARCHAR(64) NOT NULL,
  day DATE NOT NULL,
  table_name VARCHAR(64) NOT NULL,
  way VARCHAR(9) NOT NULL,
  state VARCHAR(9) NOT NULL,
  created TINYINT NOT NULL,
  records BIGINT UNSIGNED NOT NULL DEFAULT 0,
  begun_at DATETIME NOT NULL,
  done_at DATETIME NULL,
  KEY (source, state), KEY (table_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='{COMMENT}'"
    ))?;
    let found = control.query(&format!(
        "SELECT TABLE_COMMENT, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{JOURNAL}'"
    ))?;
    let text = |place: usize| found.rows.first().and_then(|row| row[place].as_deref());
    match (text(0), text(1)) {
        (Some(COMMENT), Some("InnoDB")) => Ok(()),
        _ => Err(DispatchError::Unfit {
            table: JOURNAL.to_owned(),
            what: format!("is no journal of this form ({COMMENT}, InnoDB)"),
            hint: "rename it, or use the version of evenkeel that made it",
        }),
    }
}

/// Writes that records of a day are about to go to a table.
pub fn begin(
    control: &mut Control,
    (source, by): (&str, &str),
    (day, table): (Day, &str),
    created: bool,
) -> Result<Entry, DispatchError> {
    control.exec(&format!(
        "INSERT INTO {JOURNAL} (source, by_column, day, table_name, way, state, created, begun_at) \
         VALUES ({}, {}, '{day}', {}, 'insert', 'begun', {}, NOW())",
        literal(source.as_bytes()),
        literal(by.as_bytes()),
        literal(table.as_bytes()),
        u8::from(created)
    ))?;
    let id = number(control.query_value("SELECT LAST_INSERT_ID()")?);
    Ok(Entry { id, day, table: table.to_owned(), created, records: 0 })
}

/// Rows of a source that are not done, the oldest first.
pub fn begun(control: &mut Control, source: &str) -> Result<Vec<Entry>, DispatchError> {
    let rows = control.query(&format!(
        "SELECT id, day, table_name, created, records FROM {JOURNAL} WHERE source = {} AND state = 'begun' ORDER BY id",
        literal(source.as_bytes())
    ))?;
    let entry = |row: &Vec<Option<String>>| {
        Some(Entry {
            id: number(row[0].clone()),
            day: row[1].as_deref().and_then(Day::parse)?,
            table: row[2].clone()?,
            created: row[3].as_deref() == Some("1"),
            records: number(row[4].clone()),
        })
    };
    Ok(rows.rows.iter().filter_map(entry).collect())
}

/// The statement that counts records which have gone, in their transaction.
pub fn moved_sql(id: u64, records: u64) -> String {
    format!("UPDATE {JOURNAL} SET records = records + {records} WHERE id = {id}")
}

/// Whether a table was made by a dispatch of this source: the one that made it last, since somebody may have dropped the one before.
pub fn is_ours(control: &mut Control, source: &str, table: &str) -> Result<bool, DispatchError> {
    let sql = format!(
        "SELECT 1 FROM {JOURNAL} WHERE source = {} AND id = (SELECT MAX(id) FROM {JOURNAL} WHERE table_name = {} AND created = 1 \
         AND state <> 'retired')",
        literal(source.as_bytes()),
        literal(table.as_bytes())
    );
    Ok(control.query_value(&sql)?.is_some())
}

/// The rows of records that are in a table, as a condition, from whichever source, since it was made last: one that somebody dropped and
/// that a late record has made anew does not have those of before.
pub fn there(control: &mut Control, table: &str) -> Result<String, DispatchError> {
    let table = format!("table_name = {}", literal(table.as_bytes()));
    let made = format!("SELECT MAX(id) FROM {JOURNAL} WHERE {table} AND created = 1 AND state <> 'retired'");
    let made = number(control.query_value(&made)?);
    Ok(format!("{table} AND state = 'done' AND id >= {made}"))
}

/// How many records of any source are in a table.
pub fn moved_to(control: &mut Control, table: &str) -> Result<u64, DispatchError> {
    let there = there(control, table)?;
    let sql = format!("SELECT COALESCE(SUM(records), 0) FROM {JOURNAL} WHERE {there}");
    Ok(number(control.query_value(&sql)?))
}

pub fn count(control: &mut Control, table: &str, what: &str) -> Result<u64, DispatchError> {
    let sql = format!("SELECT COUNT(*) FROM {} WHERE {what}", quoted(table));
    Ok(number(control.query_value(&sql)?))
}

pub fn number(text: Option<String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// How many records of a source have gone to day tables, so that a load does not take them for lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// All of them, also those whose day table was dropped since.
    pub all: u64,
    /// Those in tables that are still there.
    pub there: u64,
}

/// Records that have left the source, by the journal.
pub(crate) fn moved(control: &mut Control, source: &str) -> Result<Moved, TargetError> {
    if !exists(control, JOURNAL)? {
        return Ok(Moved::default());
    }
    let sums = control.query(&format!(
        "SELECT COALESCE(SUM(j.records), 0), COALESCE(SUM(IF(t.TABLE_NAME IS NULL OR j.state = 'retired', 0, j.records)), 0) \
         FROM {JOURNAL} AS j LEFT JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = DATABASE() \
         AND t.TABLE_NAME = j.table_name COLLATE utf8mb4_bin WHERE j.source = {}",
        literal(source.as_bytes())
    ))?;
    let sum = |place: usize| number(sums.rows.first().and_then(|row| row[place].clone()));
    Ok(Moved { all: sum(0), there: sum(1) })
}

/// The tables that records of a source went to, as far as they are there.
pub(crate) fn day_tables(control: &mut Control, source: &str) -> Result<Vec<String>, TargetError> {
    if !exists(control, JOURNAL)? {
        return Ok(Vec::new());
    }
    let tables = control.query(&format!(
        "SELECT DISTINCT j.table_name FROM {JOURNAL} AS j JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = DATABASE() \
         AND t.TABLE_NAME = j.table_name COLLATE utf8mb4_bin WHERE j.source = {} AND j.state <> 'retired'",
        literal(source.as_bytes())
    ))?;
    Ok(tables.rows.into_iter().flatten().flatten().collect())
}

/// Days whose tables `cdr retire` has dropped, each with the column that said the day and how many records were in it.
pub(crate) fn retired(control: &mut Control, source: &str) -> Result<Vec<(String, Day, u64)>, TargetError> {
    if !exists(control, JOURNAL)? {
        return Ok(Vec::new());
    }
    let rows = control.query(&format!(
        "SELECT by_column, day, records FROM {JOURNAL} WHERE source = {} AND way = 'retire' AND (state = 'retired' OR NOT EXISTS \
         (SELECT 1 FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = DATABASE() \
         AND t.TABLE_NAME = {JOURNAL}.table_name COLLATE utf8mb4_bin))",
        literal(source.as_bytes())
    ))?;
    let day = |row: &Vec<Option<String>>| {
        let day = row[1].as_deref().and_then(Day::parse)?;
        Some((row[0].clone()?, day, number(row[2].clone())))
    };
    Ok(rows.rows.iter().filter_map(day).collect())
}

/// Forgets what was moved, for a user who loads all of it again.
pub(crate) fn forget(control: &mut Control, source: &str) -> Result<(), TargetError> {
    if exists(control, JOURNAL)? {
        control.exec(&format!("DELETE FROM {JOURNAL} WHERE source = {}", literal(source.as_bytes())))?;
    }
    Ok(())
}
