//! A table as files.

use super::bench::{Bench, TABLE};
use super::machine::Watch;
use super::record::Tuning;
use crate::harness::Run;
use crate::published::{PublishedError, Result};
use evenkeel_haul::export::{Export, verify};
use evenkeel_os::clock::monotonic;

impl Bench<'_> {
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
}
