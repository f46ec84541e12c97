//! A load of one day.

use super::bench::{Bench, Plan, TABLE};
use super::machine::Watch;
use super::record::Method;
use crate::harness::Run;
use crate::published::Result;
use evenkeel_haul::load::Indexes;
use std::sync::atomic::AtomicU64;

impl Bench<'_> {
    pub fn load_run(&mut self, way: Method, indexes: Indexes) -> Result<Run> {
        self.bed.make_ready(way.tuning(), &self.workplace)?;
        let (mut run, days) = (Run::default(), &self.files.days[..1]);
        let watch = Watch::begin(self.bed);
        let took = self.load(Plan::of(way, indexes), vec![days[0].input()], &AtomicU64::new(0))?;
        watch.end(self.bed, took.rows, &mut run);
        run.set("seconds", took.seconds);
        run.set("rows_per_s", took.rows as f64 / took.seconds);
        run.set("load_s", took.seconds - took.index_s);
        if indexes == Indexes::After {
            run.set("index_s", took.index_s);
        }
        run.set("bytes_per_row", self.bed.bytes(TABLE)?.map(|bytes| bytes / took.rows.max(1) as f64));
        let audit_s = self.audit(days, &[TABLE.to_owned()], &mut run)?;
        run.set("audit_s", audit_s);
        Ok(run)
    }
}
