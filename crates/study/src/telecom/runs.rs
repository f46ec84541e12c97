//! The runs: a load of one day, a table as files, all days from one table to a table for each, a server that is killed in the middle of
//! a load, and the whole chain. Its source has separators in its lines already (`delimited`), or fields of fixed width, which become a
//! delimited file that is loaded by a plain statement, as published (`widths`), or rows without a file between (`direct`).

use super::bench::{Bench, DayFile, Plan, TABLE, all, inputs, note};
use super::record::{TUNED, Way};
use crate::harness::Run;
use crate::published::{PublishedError, Result, Scratch, While, timed};
use evenkeel_haul::convert::{Duplicates, Job as Conversion};
use evenkeel_haul::dispatch::{Job, NamePattern, dispatch};
use evenkeel_haul::export::{Export, verify};
use evenkeel_haul::load::Indexes;
use evenkeel_os::process::signal;
use std::fs::File;
use std::path::Path;
use std::slice::from_ref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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

/// Transactions of a load, so that a part of it is in before the kill.
const PARTS: u64 = 8;
/// From one look at the load to the next.
const NAP: Duration = Duration::from_micros(200);

impl Bench {
    /// Loads a day without a kill and then with one, and audits what the second load leaves.
    pub fn crash_run(&mut self, way: Way) -> Result<Run> {
        self.make_ready(way.is_tuned)?;
        let day = self.files.days[0].clone();
        let bytes = day.path.metadata().map_or(0, |found| found.len());
        let plan = Plan { way, indexes: Indexes::Before, part_bytes: bytes / PARTS + 1 };
        let (clean_s, total) = self.counted(plan, &day)?;
        // At these shares of the bytes; the next one where the load was over before the killer saw it.
        for share in [0.5, 0.25, 0.1, 0.0] {
            self.make_ready(way.is_tuned)?;
            let Some([cut_s, recovery_s, sent]) = self.cut(plan, &day, share * total)? else { continue };
            let (again_s, again) = self.counted(plan, &day)?;
            let mut run = Run::default();
            run.set("seconds", cut_s + recovery_s + again_s);
            run.set("seconds_lost", cut_s + recovery_s + again_s - clean_s);
            run.set("recovery_s", recovery_s);
            run.set("load_s", clean_s);
            run.set("killed_at_percent", 100.0 * sent / total);
            run.set("sent_twice_percent", 100.0 * (sent + again - total).max(0.0) / total);
            self.audit(&[day], &[TABLE], &mut run)?;
            return Ok(run);
        }
        Err(PublishedError::with_hint("the load was over before its server was killed", "take more records"))
    }

    /// Seconds of a load, and bytes that it sent.
    fn counted(&self, plan: Plan, day: &DayFile) -> Result<(f64, f64)> {
        let (sent, day) = (AtomicU64::new(0), std::slice::from_ref(day));
        let (_, seconds) = timed(|| self.files.load((&self.stop, &self.target), plan, day, &sent))?;
        Ok((seconds, sent.into_inner() as f64))
    }

    /// Loads, kills the server (SIGKILL) once so many bytes were sent, and starts it again: seconds of both, and what was sent until then.
    /// `None` where the load was over before. What the server had handed to the kernel is still written: this is less than a loss of power.
    fn cut(&mut self, plan: Plan, day: &DayFile, enough: f64) -> Result<Option<[f64; 3]>> {
        let (sent, pid) = (AtomicU64::new(0), self.server.sandbox.pid());
        let (files, server) = (&self.files, (&self.stop, &self.target));
        let so_far = || sent.load(Ordering::Relaxed) as f64;
        let (loaded, cut_s) = timed(|| {
            std::thread::scope(|scope| {
                let load = scope.spawn(|| files.load(server, plan, std::slice::from_ref(day), &sent));
                while !load.is_finished() && (so_far() < enough || so_far() == 0.0) {
                    std::thread::sleep(NAP);
                }
                signal(pid, libc::SIGKILL);
                Ok(load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        })?;
        let ((), recovery_s) = timed(|| self.server.restart([], &self.stop))?;
        match loaded {
            // That the server is gone is what the load has to say.
            Err(_) if !self.stop.is_set() => Ok(Some([cut_s, recovery_s, so_far()])),
            loaded => loaded.map(|_| None),
        }
    }
}

const STEPS: [&str; 4] = ["convert_s", "load_s", "dispatch_s", "audit_s"];

impl Bench {
    pub fn days_run(&mut self, source: &str) -> Result<Run> {
        self.make_ready(true)?;
        let (mut run, days) = (Run::default(), &self.files.days);
        let delimited = self.files.scratch.inside("delimited")?;
        if source == "delimited" {
            // What the source sends: no step of the chain.
            self.convert(days, &delimited)?;
        }
        let watch = self.watch()?;
        let steps = days.iter().map(|day| self.day(source, day, &delimited, &mut run));
        let steps: Vec<[f64; 4]> = steps.collect::<Result<_>>()?;
        let whole: Vec<f64> = steps.iter().map(|day| day.iter().sum()).collect();
        note(&mut run, whole.iter().sum(), self.setting.all(), &watch);
        for (place, step) in STEPS.into_iter().enumerate().skip(usize::from(source != "widths")) {
            run.set(step, steps.iter().map(|day| day[place]).sum::<f64>());
        }
        run.set("first_day_s", whole.first().copied());
        run.set("last_day_s", whole.last().copied());
        Ok(run)
    }

    /// Seconds of each step.
    fn day(&self, source: &str, day: &DayFile, delimited: &Scratch, run: &mut Run) -> Result<[f64; 4]> {
        let convert_s = match source {
            "widths" => timed(|| self.convert(from_ref(day), delimited))?.1,
            _ => 0.0,
        };
        let ((), load_s) = timed(|| match source {
            "direct" => self.load(TUNED, Indexes::Before, from_ref(day)).map(drop),
            _ => self.load_lines(day, delimited.path()),
        })?;
        let (records, dispatch_s) = timed(|| self.dispatch())?;
        all("dispatched", records, self.setting.records)?;
        let audit_s = self.audit(from_ref(day), &[TABLE, &format!("{TABLE}_{}", day.day)], run)?;
        Ok([convert_s, load_s, dispatch_s, audit_s])
    }

    fn convert(&self, days: &[DayFile], into: &Scratch) -> Result<()> {
        let (file, stop) = (&self.files.layout, &self.stop);
        let job =
            Conversion { file, inputs: inputs(days), into: into.path(), duplicates: Duplicates::Keep, stop };
        Ok(job.run(&mut |_| {}).map(drop)?)
    }

    /// A delimited file by the statement that anybody would write, into a table that is made where it is missing.
    fn load_lines(&self, day: &DayFile, delimited: &Path) -> Result<()> {
        let (table, mut control) = (self.files.table(TUNED)?, self.control()?);
        if control.query_value(&format!("SHOW TABLES LIKE '{TABLE}'"))?.is_none() {
            control.exec(&table.create_sql())?;
        }
        let path = delimited.join(format!("calls-{}.csv", day.day));
        let file = File::open(&path).doing(|| format!("reading {}", path.display()))?;
        all("stored", control.load_data_local(&table.load_sql(), file)?, self.setting.records)
    }
}
