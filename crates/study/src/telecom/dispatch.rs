//! All days from one table to a table for each.

use super::bench::{Bench, TABLE};
use super::machine::Watch;
use super::record::Tuning;
use crate::harness::Run;
use crate::published::{PublishedError, Result};
use evenkeel_haul::dispatch::{Dispatched, Job, Method, NamePattern, dispatch};
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;

/// Records that one transaction moves, as many as `evenkeel cdr dispatch` moves unless told otherwise; a test of the program holds the two
/// against each other.
pub const BATCH: u64 = 1_000_000;
/// More days than a file of one day has by any mistake.
const DAYS_MAX: usize = 400;

/// The way of this name.
pub(super) fn way(name: &str) -> Option<Method> {
    [Method::Insert, Method::Procedure, Method::Exchange].into_iter().find(|way| way.name() == name)
}

impl Bench<'_> {
    /// Fills the table with all days, and dispatches them.
    pub fn dispatch_run(&mut self, way: Method) -> Result<Run> {
        self.bed.make_ready(Tuning::Tuned, &self.workplace)?;
        let mut run = Run::default();
        self.fill(&self.files.days)?;
        let watch = Watch::begin(self.bed);
        let began = monotonic();
        let done = self.dispatch(way)?;
        let seconds = (monotonic() - began).as_secs_f64();
        watch.end(self.bed, done.records, &mut run);
        run.set("seconds", seconds);
        run.set("rows_per_s", done.records as f64 / seconds);
        if done.days.len() != self.files.days.len() || done.records != self.files.records() {
            let text = format!("{} of {} records were dispatched", done.records, self.files.records());
            return Err(PublishedError::wrong(format!("{}: {text}", self.name)));
        }
        let audit_s = self.audit(&self.files.days, &[TABLE.to_owned(), format!("{TABLE}_*")], &mut run)?;
        run.set("audit_s", audit_s);
        Ok(run)
    }

    /// Moves what is in the table to the tables of its days.
    pub fn dispatch(&self, way: Method) -> Result<Dispatched> {
        let job = Job {
            table: TABLE.to_owned(),
            by: "start".to_owned(),
            way,
            names: NamePattern::parse("{table}_{day}", TABLE)?,
            indexes_after: true,
            null_day: None,
            batch: BATCH,
            audit: false,
            days_max: DAYS_MAX,
        };
        let mut control = Control::connect_until(&self.bed.target()?, self.workplace.stop)?;
        Ok(dispatch(&mut control, &job, &mut |_| {})?)
    }
}
