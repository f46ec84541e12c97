//! Figures of a cell from all of its runs at once, with intervals that hold although requests depend on one another.
//!
//! Each figure is a ratio of sums over all runs. How far it is off comes from the differences between runs and from
//! those between their batches together (`variance`). Of mean and percentiles the interval is built on the scale of the
//! reciprocal, because the variance of a queue's mean response `tau` grows as `tau^4`: that of `1 / tau` is the same for
//! a run that was lucky and one that was not. So no end is negative, and one that would be infinite is left out.
//!
//! Below [`TWO_SIDED`] relaxation times (`length`) mean and percentiles have a lower bound only. How long the queue's memory
//! is has to be said by other runs: a cell that decides by its own backlog shows two ends just when that happened to be low.
//! `bench/coverage` has the coverage by simulation.

mod bounds;
mod length;
mod percentile;
mod tau;
mod throughput;
mod variance;

pub use bounds::Bounds;
pub use length::{Length, OWN_MIN, RELAXATIONS, STRETCH_MAX, TWO_SIDED, length, relaxation, relaxation_by};

use super::Spectrum;
use crate::time::Nanos;
use variance::{Error, Pair, Parts};

/// A stretch of a run, by scheduled arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub arrivals: u64,
    /// Those that failed, timed out or were never sent.
    pub lost: u64,
    pub completed: u64,
    /// Sum of what `spectrum` counts.
    pub response_sum: Nanos,
    /// Response times in ns. What failed is not among them; what timed out or was never sent counts at its age.
    pub spectrum: Spectrum,
}

impl Batch {
    /// Adds the same stretch as another thread saw it.
    pub fn add(&mut self, other: &Self) {
        self.arrivals += other.arrivals;
        self.lost += other.lost;
        self.completed += other.completed;
        self.response_sum += other.response_sum;
        self.spectrum = Spectrum::merged([&self.spectrum, &other.spectrum]);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its batches in order, commonly [`super::BATCHES`].
    pub batches: Vec<Batch>,
    pub seconds: f64,
    /// Completions in it by instant, whenever they arrived.
    pub completions: u64,
}

impl Run {
    /// Mean backlog: requests that have arrived and not ended, by Little's law (Oper. Res. 9 (1961) 383).
    pub fn backlog(&self) -> f64 {
        self.response_sum_ns() / 1e9 / self.seconds
    }

    fn response_sum_ns(&self) -> f64 {
        self.batches.iter().map(|batch| batch.response_sum.0 as f64).sum()
    }

    fn arrivals(&self) -> f64 {
        self.batches.iter().map(|batch| batch.arrivals as f64).sum()
    }

    fn parts(&self, of: impl Fn(&Batch) -> Pair) -> Parts {
        let batches: Vec<Pair> = self.batches.iter().map(of).collect();
        Parts { whole: variance::sum(&batches), batches }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    pub n: u64,
    pub bounds: Bounds,
    /// Standard error, in the unit of the value; `None` of one run.
    pub standard_error: Option<f64>,
    pub degrees: f64,
}

impl Figure {
    /// The same in another unit, for example from nanoseconds to milliseconds by `1e-6`; the factor is above zero.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            bounds: self.bounds.scaled(factor),
            standard_error: self.standard_error.map(|error| error * factor),
            ..*self
        }
    }

    fn new(value: f64, n: usize, error: Option<Error>, bounds: Bounds) -> Self {
        Self {
            value,
            n: n as u64,
            bounds,
            standard_error: error.map(|error| error.relative * value),
            degrees: error.map_or(0.0, |error| error.degrees),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Pooled<'a> {
    runs: &'a [Run],
    spectrum: Spectrum,
    relaxations: f64,
    is_long_enough: bool,
}

impl<'a> Pooled<'a> {
    /// `memory` is the relaxation time in seconds that other runs than these found ([`relaxation_by`]); where nobody knows it, the
    /// backlog of these runs stands for it. `None` where no run has a response.
    pub fn of(runs: &'a [Run], memory: Option<f64>) -> Option<Self> {
        let spectrum =
            Spectrum::merged(runs.iter().flat_map(|run| &run.batches).map(|batch| &batch.spectrum));
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let shortest = runs.iter().map(|run| run.seconds).fold(f64::INFINITY, f64::min);
        if spectrum.count() == 0 || shortest.is_nan() || shortest <= 0.0 {
            return None;
        }
        let backlog = runs.iter().map(Run::response_sum_ns).sum::<f64>() / 1e9 / seconds;
        let rate = runs.iter().map(Run::arrivals).sum::<f64>() / seconds;
        let relaxations = shortest / relaxation(backlog, rate);
        let is_long_enough = match memory {
            Some(memory) => shortest / memory >= TWO_SIDED && relaxations >= OWN_MIN,
            None => relaxations >= TWO_SIDED,
        };
        Some(Self { runs, spectrum, relaxations, is_long_enough })
    }

    /// Relaxation times that the shortest run lasted, by the mean backlog of all runs.
    pub fn relaxations(&self) -> f64 {
        self.relaxations
    }

    fn is_long_enough(&self) -> bool {
        self.is_long_enough
    }

    fn parts(&self, of: impl Fn(&Batch) -> Pair) -> Vec<Parts> {
        self.runs.iter().map(|run| run.parts(&of)).collect()
    }
}

#[cfg(test)]
mod tests;
