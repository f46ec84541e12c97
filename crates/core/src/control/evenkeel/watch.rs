//! What a controller sees without probing: how the counts scatter, whether the server stands still, whether it changed.

use super::CHANGE;
use super::evidence::{Tally, Test};
use crate::control::Sample;

/// Probability of taking chance for a change.
const ALPHA: f64 = 0.003;
/// Completions due in what is fresh before it is compared.
const ENOUGH: f64 = 60.0;

/// Weight of a tick in the mean that the next is compared with.
const MEAN: f64 = 0.15;
/// Variance of a tick less such a mean, over that of a tick.
const MEAN_VARIANCE: f64 = 1.0 + MEAN / (2.0 - MEAN);
/// Weight of a tick in the dispersion, at first and later.
const LEARN: (f64, f64) = (0.2, 0.02);
/// A jump above so many times the dispersion is a change, not scatter.
const JUMP: f64 = 6.0;
/// Least and most: a regular server does not make tests blind to drift.
const PHI: (f64, f64) = (0.8, 100.0);

/// Dispersion of counts: variance over mean from tick to tick, 1 for Poisson.
///
/// A machine whose speed wobbles by a share `w` from tick to tick has `1 + n w^2` at `n` completions a tick: on a fast
/// server the machine, not chance, is what scatters.
#[derive(Clone, Copy, Debug)]
pub struct Dispersion {
    /// Limit, and mean completions per second there.
    mean: Option<(u32, f64)>,
    phi: f64,
    weight: f64,
}

impl Default for Dispersion {
    fn default() -> Self {
        Self { mean: None, phi: 1.0, weight: LEARN.0 }
    }
}

impl Dispersion {
    /// A tick, compared with the mean of those before it at the same limit.
    pub fn tick(&mut self, tick: &Tally, limit: u32) {
        let rate = tick.count / tick.seconds;
        let Some((of, mean)) = self.mean.filter(|(of, _)| *of == limit) else {
            self.mean = Some((limit, rate));
            return;
        };
        let expected = mean * tick.seconds;
        if expected > 0.0 {
            let one = (tick.count - expected).powi(2) / expected / MEAN_VARIANCE;
            self.phi += self.weight * (one.min(JUMP * self.phi.max(1.0)) - self.phi);
            self.weight = (0.9 * self.weight).max(LEARN.1);
        }
        self.mean = Some((of, mean + MEAN * (rate - mean)));
    }

    /// The dispersion.
    pub fn phi(&self) -> f64 {
        self.phi.clamp(PHI.0, PHI.1)
    }

    /// How many completions say as much as one of a Poisson stream.
    pub fn scale(&self) -> f64 {
        self.phi().max(1.0)
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
