//! How many records of a source have gone to day tables, so that a load does not take them for lost.

use super::Day;
use super::journal::{self, JOURNAL};
use super::source::exists;
use crate::table::literal;
use evenkeel_site::server::{Control, TargetError};

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
    let sum = |place: usize| journal::number(sums.rows.first().and_then(|row| row[place].clone()));
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
        Some((row[0].clone()?, day, journal::number(row[2].clone())))
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
