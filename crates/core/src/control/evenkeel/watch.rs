use super::constants::CHANGE;
use super::dispersion::Dispersion;
use super::evidence::{Tally, Test};
use crate::control::Sample;

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
