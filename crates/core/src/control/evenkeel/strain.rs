//! Strain: sensors that stand above a baseline, which is learnt while no better limit is found.
//!
//! Strain decides which limit is tried first and pulls the brake; it never decides a test. So a sensor that lies costs a
//! probe and not throughput for long.

use super::dispersion::Dispersion;
use super::evidence::{Tally, Test};
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

/// Probability of taking chance for a change.
const ALPHA: f64 = 0.003;
/// Completions that must have been due in the new stretch before it is compared with what is remembered.
const ENOUGH: f64 = 60.0;

/// How long nothing has completed although transactions were in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    seconds: f64,
}

impl Silence {
    /// Takes in a tick at which `rate` completions per second are due. The seconds of silence, once twelve were due in it.
    pub fn tick(&mut self, sample: &Sample, rate: Option<f64>) -> Option<f64> {
        if sample.completions > 0 || sample.in_flight_mean <= 0.0 {
            self.seconds = 0.0;
            return None;
        }
        self.seconds += sample.seconds();
        let long = (12.0 / rate.filter(|&rate| rate > 0.0)?).max(0.2);
        (self.seconds >= long).then_some(self.seconds)
    }
}

/// Compares throughput at the limit in use since the last look with what is remembered of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    fresh: Tally,
}

impl Watch {
    /// Takes in a tick at the limit in use, of which `base` is remembered. The logarithm of throughput now over throughput before, where
    /// that has changed.
    pub fn tick(&mut self, tick: &Tally, base: &Tally, dispersion: &Dispersion) -> Option<f64> {
        self.fresh.add(tick);
        let phi = dispersion.between(self.fresh.seconds, base.seconds);
        let test = Test::of(base, &self.fresh, 0.0, phi);
        let due = base.rate().unwrap_or(0.0) * self.fresh.seconds;
        let changed = test.filter(|_| due >= ENOUGH * phi.max(1.0)).filter(|test| {
            test.gain.abs() > CHANGE && (test.clearly_better(ALPHA) || test.clearly_worse(ALPHA))
        });
        changed.map(|test| test.gain)
    }

    pub fn fresh(&self) -> Tally {
        self.fresh
    }

    /// Takes back time in which the server stood still.
    pub fn retract(&mut self, seconds: f64) {
        self.fresh.seconds = (self.fresh.seconds - seconds).max(0.0);
    }

    pub fn restart(&mut self) {
        self.fresh = Tally::default();
    }
}

/// Price of a transaction in flight: ln X must rise by this much for each factor of e by which the limit is higher.
pub const EPSILON: f64 = 0.02;
/// Most completions that a test takes: before any probe has failed, which doubles with every second one that fails, and ever.
pub const HORIZON: (f64, f64) = (200.0, 2_400.0);
/// From this limit on a drain takes long. While no limit was found too low, a much lower one that gives no less is taken.
pub const HIGH: u32 = 32;
/// Probability with which a test may take an equal limit for a better one: before any probe has failed, when a mistake is soon
/// undone, and the least, which it falls to as probes fail.
pub const ALPHA_BETTER: (f64, f64) = (0.2, 0.01);
/// Probability with which a test may take an equal limit for a worse one.
pub const ALPHA_WORSE: f64 = 0.02;
/// A limit whose throughput is lower by this logarithm, which is by a fifth, is far worse.
pub const FAR_WORSE: f64 = 0.25;
/// Seconds before and after a pause of the server that are no evidence either.
pub const PAUSE_S: f64 = 0.1;
/// When throughput falls within so many seconds after another limit came into use, the one that was left is tried first.
pub const SUSPECT_S: f64 = 3.0;
/// Throughput that has fallen by this logarithm, which is to 0.7, has collapsed.
pub const COLLAPSE: f64 = 0.357;
/// Seconds that the server is expected to take until it feels a change of the limit, before that was measured.
pub const LAG_S: f64 = 0.2;
/// Completions at the limit in use that are remembered.
pub const MEMORY: f64 = 4_000.0;
/// The latest of these, which say what the limit in use gives now.
pub const FRESH: f64 = 1_000.0;
/// Longest time between two tests of a near limit: in seconds and in completions, whichever takes longer.
pub const PATIENCE: (f64, f64) = (30.0, 10_000.0);
/// A change of throughput counts from this logarithm on, which is a tenth.
pub const CHANGE: f64 = 0.1;

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
