//! All days from one table to a table for each.

use super::bench::{Bench, TABLE};
use super::machine::Watch;
use super::record::Tuning;
use crate::harness::Run;
use crate::published::{PublishedError, Result};
use evenkeel_haul::dispatch::{Day, Job, NamePattern, dispatch};
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;

/// Records that one transaction moves, as many as `evenkeel cdr dispatch` moves unless told otherwise; a test of the program holds the two
/// against each other.
pub const BATCH: u64 = 1_000_000;
/// More days than a file of one day has by any mistake.
const DAYS_MAX: usize = 400;

/// The procedure by which the published study did it.
const PROCEDURE: &str = include_str!("move_day.sql");

impl Bench<'_> {
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
