//! How many records of a source have gone to day tables, so that a load does not take them for lost.

use super::Day;
use super::journal::{self, JOURNAL};
use super::names::{Names, exists};
use crate::table::{literal, quoted};
use evenkeel_site::server::{Control, TargetError};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// All of them, also those whose day table was dropped since.
    pub all: u64,
    /// Those in tables that are still there.
    pub there: u64,
}

/// Records that have left the source, by the journal; what a dispatch that was cut has not counted is counted here.
pub(crate) fn moved(control: &mut Control, source: &str) -> Result<Moved, TargetError> {
    if !exists(control, JOURNAL)? {
        return Ok(Moved::default());
    }
    let name = literal(source.as_bytes());
    let sums = control.query(&format!(
        "SELECT COALESCE(SUM(j.records), 0), COALESCE(SUM(IF(t.TABLE_NAME IS NULL OR j.state = 'retired', 0, j.records)), 0) \
         FROM {JOURNAL} AS j LEFT JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = DATABASE() \
         AND t.TABLE_NAME = j.table_name COLLATE utf8mb4_bin WHERE j.source = {name} AND j.way <> 'take'"
    ))?;
    let sum = |place: usize| journal::number(sums.rows.first().and_then(|row| row[place].clone()));
    let more = taken(control, source, &name)?;
    Ok(Moved { all: sum(0) + more, there: sum(1) + more })
}

/// Records that were taken out of a source without transactions and are in no day table yet.
fn taken(control: &mut Control, source: &str, name: &str) -> Result<u64, TargetError> {
    let taken = Names::of(source).taken;
    if !exists(control, &taken)? {
        return Ok(0);
    }
    let all = journal::number(control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(&taken)))?);
    let known = control.query_value(&format!(
        "SELECT t.records + COALESCE((SELECT SUM(d.records) FROM {JOURNAL} AS d WHERE d.take = t.id), 0) FROM {JOURNAL} AS t \
         WHERE t.source = {name} AND t.way = 'take' AND t.state IN ('begun', 'marked') ORDER BY t.id DESC LIMIT 1"
    ))?;
    Ok(all.saturating_sub(journal::number(known)))
}

/// The tables that records of a source went to, as far as they are there.
pub(crate) fn day_tables(control: &mut Control, source: &str) -> Result<Vec<String>, TargetError> {
    if !exists(control, JOURNAL)? {
        return Ok(Vec::new());
    }
    let tables = control.query(&format!(
        "SELECT DISTINCT j.table_name FROM {JOURNAL} AS j JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = DATABASE() \
         AND t.TABLE_NAME = j.table_name COLLATE utf8mb4_bin WHERE j.source = {} AND j.way <> 'take' AND j.state <> 'retired'",
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
        let name = literal(source.as_bytes());
        control.exec(&format!("DELETE FROM {JOURNAL} WHERE source = {name} AND way <> 'take'"))?;
    }
    Ok(())
}
