//! What a controller sees without probing: whether the server stands still, whether it changed.

use super::CHANGE;
use super::dispersion::Dispersion;
use super::evidence::{Tally, Test};
use crate::control::Sample;

/// Probability of taking chance for a change.
const ALPHA: f64 = 0.003;
/// Completions due in what is fresh before it is compared.
const ENOUGH: f64 = 60.0;

/// Whether nothing completes although something should.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    seconds: f64,
}

impl Silence {
    /// Seconds of silence, where twelve completions were due in it.
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

/// Whether the plant changed by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It did not.
    None,
    /// ln of throughput now over before.
    Of(f64),
}

/// Compares what is fresh with what is remembered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    fresh: Tally,
}

impl Watch {
    /// A tick at the limit in use.
    pub fn tick(&mut self, tick: &Tally, base: &Tally, dispersion: &Dispersion) -> Change {
        self.fresh.add(tick);
        let phi = dispersion.between(self.fresh.seconds, base.seconds);
        let test = Test::of(base, &self.fresh, 0.0, phi);
        let due = base.rate().unwrap_or(0.0) * self.fresh.seconds;
        let changed = test.filter(|_| due >= ENOUGH * phi.max(1.0)).filter(|test| {
            test.gain.abs() > CHANGE && (test.clearly_better(ALPHA) || test.clearly_worse(ALPHA))
        });
        if let Some(test) = changed {
            return Change::Of(test.gain);
        }
        Change::None
    }

    /// What was seen since the last look.
    pub fn fresh(&self) -> Tally {
        self.fresh
    }

    /// Takes back time in which the server stood still.
    pub fn retract(&mut self, seconds: f64) {
        self.fresh.seconds = (self.fresh.seconds - seconds).max(0.0);
    }

    /// Begins anew.
    pub fn restart(&mut self) {
        self.fresh = Tally::default();
    }
}
