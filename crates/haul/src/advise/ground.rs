//! A sample, and where it is loaded to.

use super::method::Method;
use super::plan::Plan;
use crate::HaulError;
use crate::convert::Duplicates;
use crate::input::Input;
use crate::load::{Indexes, Job, Options, Warnings};
use crate::table::Table;
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// Table of the trials.
pub(super) const TABLE: &str = "sample";

/// A sample and where it is loaded to.
pub(super) struct Ground<'a> {
    pub plan: &'a Plan<'a>,
    /// The server with the database of the trials.
    pub target: Target,
    pub home: PathBuf,
    pub bytes: u64,
}

impl Ground<'_> {
    /// Loads what is not in yet: seconds and rows.
    pub fn load(&self, way: Method, part_bytes: u64, sent: &AtomicU64) -> Result<(f64, u64), HaulError> {
        let before = monotonic();
        let loaded = self.job(way, part_bytes, sent)?.run(&mut |_| {})?;
        let took = (monotonic() - before).as_secs_f64();
        Ok((took, loaded.tally.lines.iter().sum()))
    }

    fn job<'a>(
        &'a self,
        way: Method,
        part_bytes: u64,
        sent: &'a AtomicU64,
    ) -> Result<OwnedJob<'a>, HaulError> {
        let Plan { file, indexes, duplicates, stop, .. } = self.plan;
        let table = Table::of(&file.layout, 0, TABLE, way.engine, indexes)?;
        let options = Options {
            connections: way.connections,
            indexes: if way.indexes_after { Indexes::After } else { Indexes::Before },
            // Two connections have to have something to do at a time.
            part_bytes: part_bytes.min(self.bytes / (2 * way.connections as u64) + 1),
            warnings: Warnings::End,
            again: false,
        };
        let rejects = self.home.join("rejects");
        let inputs = vec![Input::File(self.home.join("sample"))];
        Ok(OwnedJob { rejects, inputs, table, options, duplicates: *duplicates, ground: self, sent, stop })
    }
}

/// A job with what it borrows.
struct OwnedJob<'a> {
    rejects: PathBuf,
    inputs: Vec<Input>,
    table: Table,
    options: Options,
    duplicates: Duplicates,
    ground: &'a Ground<'a>,
    sent: &'a AtomicU64,
    stop: &'a Stop,
}

impl OwnedJob<'_> {
    fn run(
        self,
        tell: &mut (dyn FnMut(&crate::convert::Progress) + Send),
    ) -> Result<crate::load::Loaded, HaulError> {
        let job = Job {
            file: self.ground.plan.file,
            inputs: self.inputs,
            target: &self.ground.target,
            tables: vec![self.table],
            rejects: &self.rejects,
            duplicates: self.duplicates,
            options: self.options,
            sent: self.sent,
            stop: self.stop,
        };
        job.run(tell)
    }
}
