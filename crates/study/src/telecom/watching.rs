//! What it costs to watch a machine while records are loaded.

use super::NOT_TESTABLE;
use super::bench::{Bench, Plan, TABLE};
use super::machine::Watch;
use super::record::{Method, Tuning};
use super::watcher::{Watcher, missing};
use crate::harness::Run;
use crate::published::Result;
use evenkeel_haul::load::Indexes;
use std::sync::atomic::AtomicU64;

impl Bench<'_> {
    /// Loads all days while somebody watches.
    pub fn watching_run(&mut self, name: &str) -> Result<Run> {
        let mut run = Run::default();
        if let Some(package) = missing(name) {
            let text = format!(
                "{name} is not installed; it is in the package {package} (apt-get install {package})"
            );
            run.notes.insert(NOT_TESTABLE.to_owned(), text);
            return Ok(run);
        }
        self.bed.make_ready(Tuning::Tuned, &self.workplace)?;
        let scratch = self.files.scratch.inside("watching")?;
        let watcher = Watcher::start(name, scratch.path())?;
        let watch = Watch::begin(self.bed);
        let plan = Plan::of(Method::Tuned, Indexes::Before);
        let took = self.load(plan, self.files.inputs(), &AtomicU64::new(0))?;
        let over_s = watch.end(self.bed, took.rows, &mut run);
        run.set("watcher_cpu_percent", watcher.end()?.map(|cpu| 100.0 * cpu.as_secs_f64() / over_s));
        if name != "none" {
            // The watcher is the factor, and no disturbance.
            run.figures.remove("other_load_percent");
        }
        run.set("seconds", took.seconds);
        run.set("rows_per_s", took.rows as f64 / took.seconds);
        let audit_s = self.audit(&self.files.days, &[TABLE.to_owned()], &mut run)?;
        run.set("audit_s", audit_s);
        Ok(run)
    }
}
