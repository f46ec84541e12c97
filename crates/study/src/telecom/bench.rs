//! What all runs do: records into rows, and files held against tables.

use super::bed::Bed;
use super::files::{DayFile, Files};
use super::record::Method;
use crate::harness::Run;
use crate::published::{PublishedError, Result, Workplace};
use evenkeel_haul::audit::{AfterLoad, Audit, Report};
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::load::{Indexes, Job, Options, Warnings};
use evenkeel_haul::table::Table;
use evenkeel_haul::{HaulError, Progress, Step};
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

pub(super) const TABLE: &str = "calls";
/// Bytes of a file in one transaction, as `evenkeel cdr load` has it.
pub(super) const PART_BYTES: u64 = 32 << 20;

/// Where runs are made.
pub(super) struct Bench<'a> {
    pub workplace: Workplace<'a>,
    pub files: &'a Files,
    pub bed: &'a mut Bed,
    pub name: String,
}

#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub way: Method,
    pub indexes: Indexes,
    pub part_bytes: u64,
}

pub(super) struct Took {
    pub rows: u64,
    pub seconds: f64,
    /// Of these for indexes that came after the rows.
    pub index_s: f64,
}

impl Plan {
    /// One as `evenkeel cdr load` makes it.
    pub fn of(way: Method, indexes: Indexes) -> Self {
        Self { way, indexes, part_bytes: PART_BYTES }
    }
}

impl Files {
    /// The table of the records: the published one had indexes; ours are of who called, who was called, and when.
    pub fn table(&self, way: Method) -> Result<Table> {
        let indexes = ["calling", "called", "start"].map(|name| vec![name.to_owned()]);
        let made = Table::of(&self.layout.layout, 0, TABLE, way.engine(), &indexes);
        Ok(made.map_err(HaulError::from)?)
    }

    /// Loads records; `sent` counts the bytes that went to the server.
    pub fn load(
        &self,
        stop: &Stop,
        target: &Target,
        (plan, inputs): (Plan, Vec<PathBuf>),
        sent: &AtomicU64,
    ) -> Result<Took> {
        let rejects = self.scratch.path().join("rejects");
        let job = Job {
            file: &self.layout,
            inputs,
            target,
            tables: vec![self.table(plan.way)?],
            rejects: &rejects,
            duplicates: Duplicates::Keep,
            options: Options {
                connections: 1,
                indexes: plan.indexes,
                part_bytes: plan.part_bytes,
                warnings: Warnings::End,
                again: false,
            },
            sent,
            stop,
        };
        let (began, mut indexes_at) = (monotonic(), None);
        let loaded = job.run(&mut |progress: &Progress| {
            if progress.step == Step::Indexes {
                indexes_at.get_or_insert(monotonic());
            }
        })?;
        let over = monotonic();
        let index_s = indexes_at.map_or(0.0, |at| (over - at).as_secs_f64());
        Ok(Took { rows: loaded.tally.lines.iter().sum(), seconds: (over - began).as_secs_f64(), index_s })
    }
}

impl Bench<'_> {
    /// Loads records; `sent` counts the bytes that went to the server.
    pub fn load(&self, plan: Plan, inputs: Vec<PathBuf>, sent: &AtomicU64) -> Result<Took> {
        self.files.load(self.workplace.stop, &self.bed.target()?, (plan, inputs), sent)
    }

    /// Loads all days, for runs that are about what comes after.
    pub fn fill(&self, days: &[DayFile]) -> Result<u64> {
        let inputs = days.iter().map(DayFile::input).collect();
        Ok(self.load(Plan::of(Method::Tuned, Indexes::Before), inputs, &AtomicU64::new(0))?.rows)
    }

    /// Holds the files of these days against tables, and notes how many records that were; seconds.
    pub fn audit(&self, days: &[DayFile], tables: &[String], run: &mut Run) -> Result<f64> {
        let began = monotonic();
        let target = self.bed.target()?;
        let audit = Audit {
            file: &self.files.layout,
            record_type: 0,
            inputs: days.iter().map(DayFile::input).collect(),
            target: &target,
            tables: tables.to_vec(),
            rejects: None,
            duplicates: Duplicates::Keep,
            // These tables alone are read, and nothing is left out.
            after: Some(AfterLoad { before: Vec::new(), others: false, dispatched: false, keyed: true }),
            names: 3,
            scratch: self.files.scratch.path(),
            stop: self.workplace.stop,
        };
        let report = audit.run(&|_| {})?;
        check(&self.name, &report)?;
        let before = run.figure("records").unwrap_or(0.0);
        run.set("records", before + report.records as f64);
        Ok((monotonic() - began).as_secs_f64())
    }
}

/// Whether each record is stored once.
pub(super) fn check(run: &str, report: &Report) -> Result<()> {
    if report.total() == 0 && report.rows == report.records {
        return Ok(());
    }
    let found: Vec<String> = report.found.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let first =
        report.findings.first().map(|first| format!("; the first is {}", first.key)).unwrap_or_default();
    Err(PublishedError::with_hint(
        format!(
            "the audit of {run} found {} of {} records and {} rows{first}",
            if found.is_empty() { "a difference".to_owned() } else { found.join(", ") },
            report.records,
            report.rows
        ),
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
        assert!(check("load-tuned-after-r1", &report(100, &[])).is_ok());
        let error = check("load-tuned-after-r1", &report(99, &[(Kind::Lost, 1)])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the audit of load-tuned-after-r1 found 1 lost of 100 records and 99 rows"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("report it")));
        let doubled = check("r", &report(101, &[(Kind::Doubled, 1)])).unwrap_err();
        assert!(doubled.to_string().contains("1 doubled"), "{doubled}");
        assert!(
            check("r", &report(99, &[])).is_err(),
            "a record without a row is one even where nothing was named"
        );
    }
}
