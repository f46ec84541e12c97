//! A load of one day, a table as files, and all days from one table to a table for each.

use super::bench::{Bench, Plan, TABLE};
use super::machine::Watch;
use super::record::{Method, Tuning};
use crate::harness::Run;
use crate::published::{PublishedError, Result};
use evenkeel_haul::dispatch::{Day, Job, NamePattern, dispatch};
use evenkeel_haul::export::{Export, verify};
use evenkeel_haul::load::Indexes;
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;
use std::sync::atomic::AtomicU64;

/// Records that one transaction moves, as many as `evenkeel cdr dispatch` moves unless told otherwise.
const BATCH: u64 = 1_000_000;
/// More days than a file of one day has by any mistake.
const DAYS_MAX: usize = 400;

/// The procedure by which the published study did it.
const PROCEDURE: &str = include_str!("move_day.sql");

impl Bench<'_> {
    pub fn load_run(&mut self, way: Method, indexes: Indexes) -> Result<Run> {
        self.bed.make_ready(way.tuning(), &self.workplace)?;
        let (mut run, days) = (Run::default(), &self.files.days[..1]);
        let watch = Watch::begin(self.bed);
        let took = self.load(Plan::of(way, indexes), vec![days[0].input()], &AtomicU64::new(0))?;
        watch.end(self.bed, took.rows, &mut run);
        run.set("seconds", took.seconds);
        run.set("rows_per_s", took.rows as f64 / took.seconds);
        run.set("load_s", took.seconds - took.index_s);
        if indexes == Indexes::After {
            run.set("index_s", took.index_s);
        }
        run.set("bytes_per_row", self.bed.bytes(TABLE)?.map(|bytes| bytes / took.rows.max(1) as f64));
        let audit_s = self.audit(days, &[TABLE.to_owned()], &mut run)?;
        run.set("audit_s", audit_s);
        Ok(run)
    }

    /// Fills the table with a day, audits it, and exports it; the files are checked.
    pub fn export_run(&mut self) -> Result<Run> {
        self.bed.make_ready(Tuning::Tuned, &self.workplace)?;
        let (mut run, days) = (Run::default(), &self.files.days[..1]);
        let rows = self.fill(days)?;
        self.audit(days, &[TABLE.to_owned()], &mut run)?;
        let (target, into) = (self.bed.target()?, self.files.scratch.inside("export")?);
        let export = Export {
            target: &target,
            tables: &[TABLE.to_owned()],
            into: &into.path().join("day"),
            connections: 1,
            stop: self.workplace.stop,
        };
        let watch = Watch::begin(self.bed);
        let began = monotonic();
        let exported = export.run(&|_| {})?;
        let seconds = (monotonic() - began).as_secs_f64();
        watch.end(self.bed, rows, &mut run);
        let (mut bytes, mut written) = (0, 0);
        for table in &exported.tables {
            bytes += table.files.iter().map(|file| file.bytes).sum::<u64>();
            written += table.rows;
            if let Some(fault) = verify(export.into, table, self.workplace.stop)?.first() {
                return Err(PublishedError::wrong(format!("{}: {}: {}", self.name, fault.of, fault.what)));
            }
        }
        if written != rows {
            return Err(PublishedError::wrong(format!(
                "{}: {written} of {rows} rows were exported",
                self.name
            )));
        }
        run.set("seconds", seconds);
        run.set("rows_per_s", rows as f64 / seconds);
        run.set("mb_per_s", bytes as f64 / 1e6 / seconds);
        Ok(run)
    }

    /// Fills the table with all days, and dispatches them.
    pub fn dispatch_run(&mut self, way: &str) -> Result<Run> {
        self.bed.make_ready(Tuning::Tuned, &self.workplace)?;
        let mut run = Run::default();
        self.fill(&self.files.days)?;
        let watch = Watch::begin(self.bed);
        let began = monotonic();
        let records = if way == "procedure" { self.call_procedure()? } else { self.dispatch()? };
        let seconds = (monotonic() - began).as_secs_f64();
        watch.end(self.bed, records, &mut run);
        run.set("seconds", seconds);
        run.set("rows_per_s", records as f64 / seconds);
        if records != self.files.records() {
            let text = format!("{records} of {} records were dispatched", self.files.records());
            return Err(PublishedError::wrong(format!("{}: {text}", self.name)));
        }
        let audit_s = self.audit(&self.files.days, &[TABLE.to_owned(), format!("{TABLE}_*")], &mut run)?;
        run.set("audit_s", audit_s);
        Ok(run)
    }

    /// Moves what is in the table to the tables of its days; how many records.
    pub fn dispatch(&self) -> Result<u64> {
        let job = Job {
            table: TABLE.to_owned(),
            by: "start".to_owned(),
            names: NamePattern::parse("{table}_{day}", TABLE)?,
            batch: BATCH,
            audit: false,
            days_max: DAYS_MAX,
        };
        let mut control = Control::connect_until(&self.bed.target()?, self.workplace.stop)?;
        Ok(dispatch(&mut control, &job, &mut |_| {})?.records)
    }

    /// The same by the procedure, called for each day.
    fn call_procedure(&self) -> Result<u64> {
        let mut control = Control::connect_until(&self.bed.target()?, self.workplace.stop)?;
        control.exec("DROP PROCEDURE IF EXISTS move_day")?;
        control.exec(PROCEDURE)?;
        let mut records = 0;
        for file in &self.files.days {
            let day = Day::parse(&file.day).ok_or_else(|| PublishedError::unreadable("day"))?;
            control.exec(&format!(
                "CALL move_day('{TABLE}', 'start', '{day}', '{TABLE}_{}', @moved)",
                file.day
            ))?;
            let moved = control.query_value("SELECT @moved")?;
            records += moved.and_then(|moved| moved.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(records)
    }
}
