//! Hosts, array and what hosts tell each other, on a virtual clock.

mod host;
mod run;
mod trace;

pub use run::{run, run_apart};
pub use trace::{Row, Trace, share_error};

use super::{ArrayPlan, Costs, Io, Law};
use crate::random::Seed;

/// A stretch of time in seconds: from, until.
pub type Stretch = (f64, f64);

/// One virtual disk: I/Os that its clients always want outstanding while they are there.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPlan {
    /// Its shares, above zero.
    pub shares: f64,
    /// I/Os wanted outstanding.
    pub depth: u32,
    /// Bytes of each.
    pub bytes: u32,
    /// Share of writes, 0 to 1.
    pub writes: f64,
    /// When its clients are there; always where empty.
    pub active: Vec<Stretch>,
}

impl DiskPlan {
    /// 16 KB reads, always there.
    pub fn new(shares: f64, depth: u32) -> Self {
        Self { shares, depth, bytes: 16_384, writes: 0.0, active: Vec::new() }
    }

    fn is_active(&self, now_s: f64) -> bool {
        self.active.is_empty() || self.active.iter().any(|(from, until)| (*from..*until).contains(&now_s))
    }

    fn io(&self, unit: f64) -> Io {
        Io { bytes: self.bytes, write: unit < self.writes }
    }
}

/// One host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPlan {
    /// What sets its window.
    pub law: Law,
    /// Whether it tells the others; an outsider does not.
    pub tells: bool,
    /// Its disks.
    pub disks: Vec<DiskPlan>,
    /// What its path adds to each latency, in seconds.
    pub path_s: f64,
    /// What it takes I/Os to cost; what they cost the array where it knows.
    pub costs: Option<Costs>,
}

impl HostPlan {
    /// A member with one disk.
    pub fn new(law: Law, disk: DiskPlan) -> Self {
        Self { law, tells: true, disks: vec![disk], path_s: 0.0, costs: None }
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The storage.
    pub array: ArrayPlan,
    /// Who uses it.
    pub hosts: Vec<HostPlan>,
    /// Seconds between two updates of a host; hosts update one after the other, spread over it.
    pub period_s: f64,
    /// Seconds.
    pub duration_s: f64,
    /// Seed.
    pub seed: Seed,
}

#[cfg(test)]
mod tests;
