//! The whole chain, one day after the other. Its source has separators in its lines already (`delimited`), or fields of fixed width,
//! which become a delimited file that is loaded by a plain statement, as published (`widths`), or rows without a file between (`direct`).

use super::bench::{Bench, DayFile, TABLE, all, inputs, note};
use super::record::TUNED;
use crate::harness::Run;
use crate::published::{Result, Scratch, While, timed};
use evenkeel_haul::convert::{Duplicates, Job};
use evenkeel_haul::load::Indexes;
use std::fs::File;
use std::path::Path;
use std::slice::from_ref;

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
        let job = Job { file, inputs: inputs(days), into: into.path(), duplicates: Duplicates::Keep, stop };
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
