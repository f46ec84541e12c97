//! Hosts, an array and the hosts' reports on a virtual clock.

mod host;
mod run;
mod trace;

pub use run::run;
pub use trace::{Row, Trace, share_error};

use super::{ArrayPlan, Costs, Io, Law};
use crate::random::Seed;

pub type Stretch = (f64, f64);

/// A stretch in which the clients of a disk want fewer I/Os than at other times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lull {
    pub stretch: Stretch,
    /// I/Os wanted outstanding in it, at least one.
    pub depth: u32,
}

/// One virtual disk: I/Os that its clients always want outstanding while they are there.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPlan {
    pub shares: f64,
    pub depth: u32,
    pub bytes: u32,
    /// Share of writes, 0 to 1.
    pub writes: f64,
    /// When its clients are there; always where empty.
    pub active: Vec<Stretch>,
    pub lull: Option<Lull>,
}

impl DiskPlan {
    /// 16 KB reads, always there.
    pub fn new(shares: f64, depth: u32) -> Self {
        Self { shares, depth, bytes: 16_384, writes: 0.0, active: Vec::new(), lull: None }
    }

    /// Stretches of one depth each, in order, up to `until_s` seconds.
    pub fn spells(&self, until_s: f64) -> Vec<(Stretch, u32)> {
        let always = [(0.0, until_s)];
        let there = if self.active.is_empty() { &always[..] } else { &self.active };
        there.iter().flat_map(|&stretch| self.parts(stretch)).collect()
    }

    /// A stretch, cut where the lull begins and ends.
    fn parts(&self, (from_s, until_s): Stretch) -> Vec<(Stretch, u32)> {
        let Some(Lull { stretch, depth }) = self.lull else { return vec![((from_s, until_s), self.depth)] };
        let cuts = [stretch.0, stretch.1].map(|at_s| at_s.clamp(from_s, until_s));
        let parts =
            [((from_s, cuts[0]), self.depth), ((cuts[0], cuts[1]), depth), ((cuts[1], until_s), self.depth)];
        parts.into_iter().filter(|((begin_s, end_s), _)| end_s > begin_s).collect()
    }

    fn io(&self, unit: f64) -> Io {
        Io { bytes: self.bytes, write: unit < self.writes }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct HostPlan {
    pub law: Law,
    /// Whether it reports to the others; an outsider does not.
    pub reports: bool,
    pub disks: Vec<DiskPlan>,
    /// Seconds that the way to the storage adds to each latency.
    pub path_s: f64,
    /// What it takes I/Os to cost; `None` for what they cost the array.
    pub costs: Option<Costs>,
}

impl HostPlan {
    pub fn new(law: Law, disk: DiskPlan) -> Self {
        Self { law, reports: true, disks: vec![disk], path_s: 0.0, costs: None }
    }

    /// The instants after the start at which its clients come, go, or want another number of I/Os.
    fn changes(&self) -> Vec<f64> {
        let spells = self.disks.iter().flat_map(|disk| disk.spells(f64::INFINITY));
        let edges = spells.flat_map(|((from_s, until_s), _)| [from_s, until_s]);
        edges.filter(|at_s| *at_s > 0.0 && at_s.is_finite()).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub array: ArrayPlan,
    pub hosts: Vec<HostPlan>,
    /// Seconds between two updates of a host; hosts update one after the other, spread over it.
    pub period_s: f64,
    pub duration_s: f64,
    pub seed: Seed,
}

#[cfg(test)]
mod tests;
