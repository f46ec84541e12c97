//! What a controller sees without probing: how the counts scatter, whether the server stands still, whether it changed.

use super::CHANGE;
use super::evidence::{Tally, Test};
use crate::control::Sample;

/// Probability of taking chance for a change.
const ALPHA: f64 = 0.003;
/// Completions due in what is fresh before it is compared.
const ENOUGH: f64 = 60.0;

/// Dispersion of counts: variance over mean from tick to tick, 1 for Poisson.
#[derive(Clone, Copy, Debug)]
pub struct Dispersion {
    last: Option<(u32, f64)>,
    phi: f64,
}

impl Default for Dispersion {
    fn default() -> Self {
        Self { last: None, phi: 1.0 }
    }
}

impl Dispersion {
    /// Successive ticks at the same limit; half the squared difference over the mean is an estimate.
    pub fn tick(&mut self, tick: &Tally, limit: u32) {
        if let Some((of, count)) = self.last
            && of == limit
            && count + tick.count > 0.0
        {
            // A jump is a change, not scatter.
            let one = ((count - tick.count).powi(2) / (count + tick.count)).min(6.0);
            self.phi += 0.02 * (one - self.phi);
        }
        self.last = Some((limit, tick.count));
    }

    /// Hardly below 1: a regular server does not make tests blind to drift.
    pub fn phi(&self) -> f64 {
        self.phi.clamp(0.8, 10.0)
    }
}

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
    pub fn tick(&mut self, tick: &Tally, base: &Tally, phi: f64) -> Change {
        self.fresh.add(tick);
        let test = Test::of(base, &self.fresh, 0.0, phi);
        let due = base.rate().unwrap_or(0.0) * self.fresh.seconds;
        let changed = test.filter(|_| due >= ENOUGH).filter(|test| {
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
