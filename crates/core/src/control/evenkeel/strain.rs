//! Strain: sensors that stand above a baseline, which is learnt while no better limit is found.
//!
//! Strain decides which limit is tried first and pulls the brake; it never decides a test. So a sensor that lies costs a
//! probe and not throughput for long.

use super::constants::CHANGE;
use super::evidence::Tally;
use crate::control::{Hint, Sample};

/// Time constants, in seconds, of the means that are compared with the baseline, and of the baseline.
const FAST_S: f64 = 1.0;
const SLOW_S: f64 = 60.0;
/// Work inflation, which is the cost of a commit over its baseline, from which commits cost too much.
const INFLATED: f64 = 1.3;
/// Share of the time in flight spent in lock waits that is strain where there is no baseline.
const LOCKED: f64 = 0.5;
/// Growth of that share over its baseline that is strain.
const LOCKED_MORE: f64 = 0.1;
/// Rollbacks per commit that are strain.
const ABORTED: f64 = 0.2;
/// Share of time in which all tasks wait for memory that is strain.
const PRESSED: f64 = 0.05;

/// An exponential mean that is absent until something was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean(Option<f64>);

impl Mean {
    fn add(&mut self, value: Option<f64>, weight: f64) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0 = Some(self.0.map_or(value, |mean| mean + weight * (value - mean)));
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Means {
    work: Mean,
    locks: Mean,
    aborts: Mean,
    pressure: Mean,
}

impl Means {
    fn add(&mut self, sample: &Sample, seconds: f64, constant: f64) {
        let weight = (seconds / constant).min(1.0);
        let signals = &sample.signals;
        self.work.add(signals.cycles_per_commit.or(signals.cpu_per_commit), weight);
        self.locks.add(signals.lock_wait_share, weight);
        let commits = sample.completions as f64;
        let counted = (commits > 0.0).then(|| sample.rolled_back as f64 / commits);
        self.aborts.add(signals.deadlocks_per_commit.or(counted), weight);
        self.pressure.add(signals.memory_pressure, weight);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strain {
    now: Means,
    baseline: Means,
}

impl Strain {
    /// Takes in a tick at the limit in use. It counts for the baseline where `settled`: no probe is due.
    pub fn tick(&mut self, sample: &Sample, tick: &Tally, settled: bool) {
        self.now.add(sample, tick.seconds, FAST_S);
        if settled {
            self.baseline.add(sample, tick.seconds, SLOW_S);
        }
    }

    pub fn strained(&self) -> Option<Hint> {
        let grown = |now: Mean, before: Mean, by: f64, else_above: f64| match (now.0, before.0) {
            (Some(now), Some(before)) => now > before + by,
            (Some(now), None) => now > else_above,
            _ => false,
        };
        let aborted = self
            .now
            .aborts
            .0
            .is_some_and(|aborts| aborts > ABORTED.max(2.0 * self.baseline.aborts.0.unwrap_or(0.0)));
        if self.pressed() {
            Some(Hint::Memory)
        } else if aborted || grown(self.now.locks, self.baseline.locks, LOCKED_MORE, LOCKED) {
            Some(Hint::Locks)
        } else if self.inflation().is_some_and(|inflation| inflation > INFLATED) {
            Some(Hint::WorkInflation)
        } else {
            None
        }
    }

    pub fn pressed(&self) -> bool {
        self.now.pressure.0.is_some_and(|pressure| pressure > PRESSED)
    }

    /// Whether the cost of work or the share of lock waits has moved from the baseline by as much as counts as a change. If
    /// so, what is measured now is the new baseline.
    pub fn moved(&mut self) -> bool {
        let work = self.inflation().is_some_and(|inflation| inflation.ln().abs() > CHANGE);
        let locks = match (self.now.locks.0, self.baseline.locks.0) {
            (Some(now), Some(before)) => (now - before).abs() > LOCKED_MORE,
            _ => false,
        };
        let moved = work || locks;
        if moved {
            self.baseline = self.now;
        }
        moved
    }

    fn inflation(&self) -> Option<f64> {
        let (now, before) = (self.now.work.0?, self.baseline.work.0?);
        (before > 0.0 && now > 0.0).then(|| now / before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Signals;

    fn ticked(strain: &mut Strain, signals: Signals, ticks: usize, settled: bool) {
        let sample = Sample { completions: 10, signals, ..Sample::default() };
        let tick = Tally { count: 10.0, work: 10.0, seconds: 0.05 };
        (0..ticks).for_each(|_| strain.tick(&sample, &tick, settled));
    }

    #[test]
    fn commits_that_cost_a_third_more_than_before_are_strain() {
        let mut strain = Strain::default();
        let costs = |cost| Signals { cpu_per_commit: Some(cost), ..Signals::default() };
        ticked(&mut strain, costs(0.001), 200, true);
        assert_eq!(strain.strained(), None);
        ticked(&mut strain, costs(0.0014), 200, false);
        assert_eq!(strain.strained(), Some(Hint::WorkInflation));
        assert!(strain.moved());
        // What it moved to is the new baseline.
        assert!(!strain.moved());
    }

    #[test]
    fn lock_waits_are_strain_above_the_baseline_or_where_there_is_none() {
        let locks = |share| Signals { lock_wait_share: Some(share), ..Signals::default() };
        let mut strain = Strain::default();
        ticked(&mut strain, locks(0.9), 1, false);
        assert_eq!(strain.strained(), Some(Hint::Locks));
        let mut used = Strain::default();
        ticked(&mut used, locks(0.9), 200, true);
        assert_eq!(used.strained(), None);
    }

    #[test]
    fn deadlocks_count_from_the_rollbacks_that_the_gate_sees() {
        let mut strain = Strain::default();
        let sample = Sample { completions: 10, rolled_back: 4, ..Sample::default() };
        let tick = Tally { count: 10.0, work: 10.0, seconds: 0.05 };
        strain.tick(&sample, &tick, false);
        assert_eq!(strain.strained(), Some(Hint::Locks));
    }
}
