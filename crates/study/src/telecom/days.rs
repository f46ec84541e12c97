//! The whole chain, one day after the other.

use super::bench::{Bench, Plan, TABLE};
use super::files::DayFile;
use super::machine::Watch;
use super::record::{Method, Tuning};
use crate::harness::Run;
use crate::published::{PublishedError, Result, While};
use evenkeel_haul::convert::{Duplicates, Job};
use evenkeel_haul::load::Indexes;
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

/// Where the separators come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Fields of fixed width become a delimited file, which is loaded by a plain statement: as published.
    Widths,
    /// They become rows without a file between.
    Direct,
    /// The file has separators already.
    Delimited,
}

impl Source {
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "widths" => Some(Self::Widths),
            "direct" => Some(Self::Direct),
            "delimited" => Some(Self::Delimited),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Steps {
    convert: f64,
    load: f64,
    dispatch: f64,
    audit: f64,
}

impl Steps {
    fn whole(self) -> f64 {
        self.convert + self.load + self.dispatch + self.audit
    }
}

impl Bench<'_> {
    pub fn days_run(&mut self, source: Source) -> Result<Run> {
        self.bed.make_ready(Tuning::Tuned, &self.workplace)?;
        let (mut run, mut days) = (Run::default(), Vec::new());
        if source == Source::Delimited {
            // What the source sends: no step of the chain.
            self.converted(&self.files.days)?;
        }
        let watch = Watch::begin(self.bed);
        for day in &self.files.days {
            days.push(self.day(source, day, &mut run)?);
        }
        watch.end(self.bed, self.files.records(), &mut run);
        let sum = |step: &dyn Fn(&Steps) -> f64| days.iter().map(step).sum::<f64>();
        let seconds = sum(&|day| day.whole());
        run.set("seconds", seconds);
        run.set("rows_per_s", self.files.records() as f64 / seconds);
        if source == Source::Widths {
            run.set("convert_s", sum(&|day| day.convert));
        }
        run.set("load_s", sum(&|day| day.load));
        run.set("dispatch_s", sum(&|day| day.dispatch));
        run.set("audit_s", sum(&|day| day.audit));
        run.set("first_day_s", days.first().map(|day| day.whole()));
        run.set("last_day_s", days.last().map(|day| day.whole()));
        let folder = self.delimited();
        if folder.exists() {
            fs::remove_dir_all(&folder).doing(|| format!("removing {}", folder.display()))?;
        }
        Ok(run)
    }

    fn day(&self, source: Source, day: &DayFile, run: &mut Run) -> Result<Steps> {
        let mut steps = Steps::default();
        let mut lap = Lap::start();
        if source == Source::Widths {
            self.converted(std::slice::from_ref(day))?;
            steps.convert = lap.end();
        }
        match source {
            Source::Direct => {
                let plan = Plan::of(Method::Tuned, Indexes::Before);
                self.load(plan, vec![day.input()], &AtomicU64::new(0))?;
            }
            Source::Widths | Source::Delimited => self.load_lines(day)?,
        }
        steps.load = lap.end();
        let records = self.dispatch()?;
        steps.dispatch = lap.end();
        if records != day.records {
            let text = format!("{records} of {} records of a day were dispatched", day.records);
            return Err(PublishedError::wrong(format!("{}: {text}", self.name)));
        }
        let table = format!("{TABLE}_{}", day.day);
        steps.audit = self.audit(std::slice::from_ref(day), &[TABLE.to_owned(), table], run)?;
        Ok(steps)
    }

    fn delimited(&self) -> PathBuf {
        self.files.scratch.path().join("delimited")
    }

    fn converted(&self, days: &[DayFile]) -> Result<()> {
        let into = self.delimited();
        let job = Job {
            file: &self.files.layout,
            inputs: days.iter().map(DayFile::input).collect(),
            into: &into,
            duplicates: Duplicates::Keep,
            stop: self.workplace.stop,
        };
        let done = job.run(&mut |_| {})?;
        match done.iter().map(|done| done.tally.rejects).sum::<u64>() {
            0 => Ok(()),
            rejects => {
                Err(PublishedError::wrong(format!("{}: {rejects} clean records were refused", self.name)))
            }
        }
    }

    /// A delimited file by the statement that anybody would write, into a table that is made where it is missing.
    fn load_lines(&self, day: &DayFile) -> Result<()> {
        let table = self.files.table(Method::Tuned)?;
        let name = day.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let path = self.delimited().join(format!("{name}.csv"));
        let mut control = Control::connect_until(&self.bed.target()?, self.workplace.stop)?;
        let there = control.query_value(&format!("SHOW TABLES LIKE '{TABLE}'"))?;
        if there.is_none() {
            control.exec(&table.create_sql())?;
        }
        let rows = control.load_data_local(&table.load_sql(), open(&path)?)?;
        match rows == day.records && control.warnings() == 0 {
            true => Ok(()),
            false => Err(PublishedError::wrong(format!(
                "{}: {rows} of {} lines were stored, with {} warnings",
                self.name,
                day.records,
                control.warnings()
            ))),
        }
    }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).doing(|| format!("reading {}", path.display()))
}

/// Time from step to step.
struct Lap(evenkeel_core::Nanos);

impl Lap {
    fn start() -> Self {
        Self(monotonic())
    }

    fn end(&mut self) -> f64 {
        let now = monotonic();
        let seconds = (now - self.0).as_secs_f64();
        self.0 = now;
        seconds
    }
}
