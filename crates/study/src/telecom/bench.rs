//! The private server of the study, and what all runs do: records into rows, and files held against tables.

use super::files::{DayFile, Files, Plan, inputs};
use super::record::{Setting, Way};
use crate::harness::Run;
use crate::published::{PrivateServer, PublishedError, Result, Watch, timed};
use evenkeel_haul::audit::{AfterLoad, Audit, Report};
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::load::Indexes;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::sync::atomic::AtomicU64;

/// Where runs are made.
pub struct Bench {
    pub files: Files,
    pub(super) server: PrivateServer,
    /// The server with the database that every run makes anew.
    pub target: Target,
    pub setting: Setting,
    pub is_tuned: bool,
    pub stop: Stop,
}

impl Bench {
    /// Gives the server these settings, which takes a restart where they are others, and an empty database.
    pub fn make_ready(&mut self, is_tuned: bool) -> Result<()> {
        if self.is_tuned != is_tuned {
            self.server.restart(self.setting.server(is_tuned), &self.stop)?;
            self.is_tuned = is_tuned;
        }
        self.target = self.server.emptied("telecom", &self.stop)?;
        Ok(())
    }

    pub fn control(&self) -> Result<Control> {
        Ok(Control::connect_until(&self.target, &self.stop)?)
    }

    pub(super) fn watch(&self) -> Result<Watch> {
        Ok(Watch::begin([self.server.pid()?]))
    }

    /// Loads days; the rows, and seconds for indexes that came after them.
    pub fn load(&self, way: Way, indexes: Indexes, days: &[DayFile]) -> Result<(u64, f64)> {
        // As `evenkeel cdr load` has it.
        let plan = Plan { way, indexes, part_bytes: 32 << 20 };
        self.files.load((&self.stop, &self.target), plan, days, &AtomicU64::new(0))
    }

    /// Holds the files of these days against tables, and notes how many records that were, and seconds.
    pub fn audit(&self, days: &[DayFile], tables: &[&str], run: &mut Run) -> Result<f64> {
        let audit = Audit {
            file: &self.files.layout,
            record_type: 0,
            inputs: inputs(days),
            target: &self.target,
            tables: tables.iter().map(|table| (*table).to_owned()).collect(),
            rejects: None,
            duplicates: Duplicates::Keep,
            // These tables alone are read, and nothing is left out.
            after: Some(AfterLoad { before: Vec::new(), others: false, dispatched: false, keyed: true }),
            names: 3,
            scratch: self.files.scratch.path(),
            stop: &self.stop,
        };
        let (report, seconds) = timed(|| Ok(audit.run(&|_| {})?))?;
        check(&report)?;
        run.set("records", run.figure("records").unwrap_or(0.0) + report.records as f64);
        run.set("audit_s", seconds);
        Ok(seconds)
    }
}

/// Notes how long a run took, of what was used meanwhile that of each row, and what others took.
pub fn note(run: &mut Run, seconds: f64, rows: u64, watch: &Watch) {
    let (used, rows) = (watch.end(), rows.max(1) as f64);
    run.set("seconds", seconds);
    run.set("rows_per_s", rows / seconds);
    run.set("cpu_us_per_row", used.first_s.map(|server_s| 1e6 * server_s / rows));
    used.note(run);
}

/// Refuses a number of records that is not that of all of them.
pub fn all(done: &str, records: u64, of: u64) -> Result<()> {
    match records == of {
        true => Ok(()),
        false => Err(PublishedError::wrong(format!("{records} of {of} records were {done}"))),
    }
}

/// Whether each record is stored once.
fn check(report: &Report) -> Result<()> {
    if report.total() == 0 && report.rows == report.records {
        return Ok(());
    }
    let found: String = report.found.iter().map(|(kind, count)| format!("{count} {kind}, ")).collect();
    Err(PublishedError::with_hint(
        format!("the audit found {found}{} records and {} rows", report.records, report.rows),
        "this is a defect of Evenkeel or of the server: keep the study's folder, and report it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_haul::audit::Kind;
    use std::collections::BTreeMap;

    fn report(rows: u64, found: &[(Kind, u64)]) -> Report {
        Report {
            records: 100,
            other_types: 0,
            lines: 100,
            rejected: 0,
            rows,
            retired: 0,
            unchecked: 0,
            tables: Vec::new(),
            snapshot: None,
            rejects_checked: false,
            found: found.iter().copied().collect::<BTreeMap<_, _>>(),
            findings: Vec::new(),
        }
    }

    #[test]
    fn a_load_that_lost_a_record_ends_the_study_in_words_and_one_that_is_whole_does_not() {
        assert!(check(&report(100, &[])).is_ok());
        let error = check(&report(99, &[(Kind::Lost, 1)])).unwrap_err();
        assert_eq!(error.to_string(), "the audit found 1 lost, 100 records and 99 rows");
        assert!(error.hint().is_some_and(|hint| hint.contains("report it")));
        let doubled = check(&report(101, &[(Kind::Doubled, 1)])).unwrap_err();
        assert!(doubled.to_string().contains("1 doubled"), "{doubled}");
        assert!(
            check(&report(99, &[])).is_err(),
            "a record without a row is one even where nothing was named"
        );
    }
}
