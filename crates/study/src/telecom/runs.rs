//! A load of one day, a table as files, and all days from one table to a table for each.

use super::bench::{Bench, DayFile, TABLE, all, note};
use super::record::{TUNED, Way};
use crate::harness::Run;
use crate::published::{PublishedError, Result, While, timed};
use evenkeel_haul::dispatch::{Job, NamePattern, dispatch};
use evenkeel_haul::export::{Export, verify};
use evenkeel_haul::load::Indexes;

impl Bench {
    pub fn load_run(&mut self, way: Way, indexes: Indexes) -> Result<Run> {
        self.make_ready(way.is_tuned)?;
        let (mut run, days) = (Run::default(), &self.files.days[..1]);
        let watch = self.watch()?;
        let ((rows, index_s), seconds) = timed(|| self.load(way, indexes, days))?;
        note(&mut run, seconds, rows, &watch);
        run.set("load_s", seconds - index_s);
        run.set("index_s", Some(index_s).filter(|_| indexes == Indexes::After));
        let mut control = self.control()?;
        control.query(&format!("ANALYZE TABLE {TABLE}"))?;
        let bytes = control.query_value(&format!(
            "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{TABLE}'"
        ))?;
        let bytes: Option<f64> = bytes.and_then(|bytes| bytes.parse().ok());
        run.set("bytes_per_row", bytes.map(|bytes| bytes / rows.max(1) as f64));
        self.audit(days, &[TABLE], &mut run)?;
        Ok(run)
    }

    /// Fills the table with a day, audits it, and exports it; the files are checked.
    pub fn export_run(&mut self) -> Result<Run> {
        self.make_ready(true)?;
        let (mut run, days) = (Run::default(), &self.files.days[..1]);
        let (rows, _) = self.load(TUNED, Indexes::Before, days)?;
        self.audit(days, &[TABLE], &mut run)?;
        let into = self.files.scratch.inside("export")?;
        let export = Export {
            target: &self.target,
            tables: &[TABLE.to_owned()],
            into: &into.path().join("day"),
            connections: 1,
            stop: &self.stop,
        };
        let watch = self.watch()?;
        let (exported, seconds) = timed(|| Ok(export.run(&|_| {})?))?;
        note(&mut run, seconds, rows, &watch);
        for table in &exported.tables {
            if let Some(fault) = verify(export.into, table, &self.stop)?.first() {
                return Err(PublishedError::wrong(format!("{}: {}", fault.of, fault.what)));
            }
        }
        all("exported", exported.tables.iter().map(|table| table.rows).sum(), rows)?;
        let files = exported.tables.iter().flat_map(|table| &table.files);
        run.set("mb_per_s", files.map(|file| file.bytes).sum::<u64>() as f64 / 1e6 / seconds);
        Ok(run)
    }

    /// Fills the table with all days, and dispatches them.
    pub fn dispatch_run(&mut self, way: &str) -> Result<Run> {
        self.make_ready(true)?;
        let (mut run, days) = (Run::default(), &self.files.days);
        let (rows, _) = self.load(TUNED, Indexes::Before, days)?;
        let watch = self.watch()?;
        let dispatch = || if way == "procedure" { self.call_procedure() } else { self.dispatch() };
        let (records, seconds) = timed(dispatch)?;
        note(&mut run, seconds, records, &watch);
        all("dispatched", records, rows)?;
        self.audit(days, &[TABLE, &format!("{TABLE}_*")], &mut run)?;
        Ok(run)
    }

    /// Moves what is in the table to the tables of its days, as `evenkeel cdr dispatch` does; how many records.
    pub fn dispatch(&self) -> Result<u64> {
        let names = NamePattern::parse("{table}_{day}", TABLE)?;
        let (table, by) = (TABLE.to_owned(), "start".to_owned());
        let job = Job { table, by, names, batch: 1_000_000, audit: false, days_max: 400 };
        Ok(dispatch(&mut self.control()?, &job, &mut |_| {})?.records)
    }

    /// The same by a procedure that is called for each day, as published.
    fn call_procedure(&self) -> Result<u64> {
        let mut control = self.control()?;
        control.exec("DROP PROCEDURE IF EXISTS move_day")?;
        control.exec(include_str!("move_day.sql"))?;
        let mut records = 0;
        for DayFile { day, .. } in &self.files.days {
            control.exec(&format!("CALL move_day('{day}', '{TABLE}_{day}', @moved)"))?;
            let moved = control.query_value("SELECT @moved")?.unwrap_or_default();
            records += moved.parse::<u64>().doing(|| "reading how many records were moved")?;
        }
        Ok(records)
    }
}
