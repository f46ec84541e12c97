//! The private server of the study, and what all runs do: records into rows, and files held against tables.

use super::record::{Setting, Way};
use crate::harness::{Event, Notify, Run};
use crate::published::{At, PrivateServer, PublishedError, Result, Scratch, Watch, While, timed};
use evenkeel_core::random::Seed;
use evenkeel_haul::audit::{AfterLoad, Audit, Report};
use evenkeel_haul::convert::Duplicates;
use evenkeel_haul::dispatch::Day;
use evenkeel_haul::generate::{Dirt, LAYOUT, Spec};
use evenkeel_haul::layout::LayoutFile;
use evenkeel_haul::load::{Indexes, Job, MaxRejects, Options, Warnings};
use evenkeel_haul::table::Table;
use evenkeel_haul::{HaulError, Progress, Step, generate, layout};
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::{Control, Target};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;
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

pub const TABLE: &str = "calls";

pub struct Files {
    /// Where fields lie.
    pub layout: LayoutFile,
    pub days: Vec<DayFile>,
    /// Folder for what only runs need.
    pub(super) scratch: Scratch,
}

#[derive(Clone)]
pub struct DayFile {
    /// The day, as `yyyymmdd`.
    pub day: String,
    pub path: PathBuf,
}

/// How a load is made: when its indexes, and by how many bytes of a file in one transaction.
#[derive(Clone, Copy)]
pub struct Plan {
    pub way: Way,
    pub indexes: Indexes,
    pub part_bytes: u64,
}

pub fn inputs(days: &[DayFile]) -> Vec<PathBuf> {
    days.iter().map(|day| day.path.clone()).collect()
}

impl Files {
    pub fn make(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        let scratch = Scratch::of_study(&at.workplace, &at.plan.private_name())?;
        let path = scratch.path().join("calls.toml");
        fs::write(&path, LAYOUT).doing(|| format!("writing {}", path.display()))?;
        let layout = layout::read(&path).doing(|| "reading the layout of the records")?;
        let mut files = Self { layout, days: Vec::new(), scratch };
        let (first, records) = (Day::parse("20260801").map_or(0, Day::number), at.setting.records);
        for place in 0..at.setting.days {
            tell(Event::Step(format!("making the records of day {} of {}", place + 1, at.setting.days)));
            let day = Day::of_number(first + i64::from(place)).compact();
            let path = files.scratch.path().join(format!("calls-{day}"));
            let spec = Spec {
                records,
                day: day.parse().doing(|| "naming a day")?,
                first: 1 + u64::from(place) * records,
                dirt: Dirt::none(),
                seed: Seed(at.plan.seed).child("day").numbered(place.into()),
            };
            let failed = || format!("writing {}", path.display());
            let mut out = BufWriter::new(File::create(&path).doing(failed)?);
            generate::generate(&spec, &mut out, &mut |_| !at.workplace.stop.is_set()).doing(failed)?;
            files.days.push(DayFile { day, path });
        }
        Ok(files)
    }

    /// The table of the records: the published one had indexes; ours are of who called, who was called, and when.
    pub fn table(&self, way: Way) -> Result<Table> {
        let indexes = ["calling", "called", "start"].map(|name| vec![name.to_owned()]);
        let made = Table::of(&self.layout.layout, 0, TABLE, way.engine, &indexes);
        Ok(made.map_err(HaulError::from)?)
    }

    /// Loads the records of these days; the rows, and seconds for indexes that came after them. `sent` counts bytes that went to the server.
    pub fn load(
        &self,
        (stop, target): (&Stop, &Target),
        plan: Plan,
        days: &[DayFile],
        sent: &AtomicU64,
    ) -> Result<(u64, f64)> {
        let rejects = self.scratch.path().join("rejects");
        let job = Job {
            file: &self.layout,
            inputs: inputs(days),
            target,
            tables: vec![self.table(plan.way)?],
            rejects: &rejects,
            corrected: None,
            duplicates: Duplicates::Keep,
            options: Options {
                connections: 1,
                indexes: plan.indexes,
                part_bytes: plan.part_bytes,
                warnings: Warnings::End,
                again: false,
                max_rejects: MaxRejects::Share(0.05),
                audited: false,
            },
            sent,
            stop,
        };
        let mut indexes_at = None;
        let loaded = job.run(&mut |progress: &Progress| {
            if progress.step == Step::Indexes {
                indexes_at.get_or_insert(monotonic());
            }
        })?;
        let index_s = indexes_at.map_or(0.0, |at| (monotonic() - at).as_secs_f64());
        Ok((loaded.tally.lines.iter().sum(), index_s))
    }
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
            corrected: 0,
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
