//! What one run asks.

use super::ledger::Ledger;
use super::spec::StudySpec;
use crate::store::format::{CellRecord, Process};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{ArrivalPlan, Together};
use evenkeel_lab::workload::Workload;
use std::path::PathBuf;
use std::sync::Arc;

/// What one run asks.
pub(super) struct RunOrder<'a> {
    pub cell: &'a CellRecord,
    pub repeat: u32,
    pub attempt: u32,
    pub order: u32,
    pub workload: Arc<dyn Workload>,
    pub arrivals: ArrivalPlan,
    pub warm_up: Nanos,
    pub measure: Nanos,
    /// Whether the server was started for this run.
    pub is_cold: bool,
    /// Where the request log goes, if one is kept.
    pub request_log: Option<PathBuf>,
    /// Other loads that it begins together with.
    pub together: Option<Together>,
    /// Who counts what it writes, where somebody has to.
    pub ledger: Option<Ledger<'a>>,
}

impl RunOrder<'_> {
    /// The seed of this run: its own for each cell, repeat and attempt, so that no two runs ask the same rows.
    pub(super) fn seed(&self, spec: &StudySpec) -> Seed {
        let seed = spec.seed.child("run").numbered(u64::from(self.cell.id)).numbered(u64::from(self.repeat));
        if self.attempt > 1 { seed.child("attempt").numbered(u64::from(self.attempt)) } else { seed }
    }
}

/// The arrivals of a cell.
pub(super) fn arrivals(process: Process, rate: f64) -> ArrivalPlan {
    match process {
        Process::Poisson => ArrivalPlan::Poisson(rate),
        Process::Constant => ArrivalPlan::Constant(rate),
    }
}
