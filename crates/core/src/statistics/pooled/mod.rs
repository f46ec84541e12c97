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

mod length;
mod shared;
mod variance;

use super::Spectrum;
use crate::time::Nanos;
pub use length::{Length, OWN_MIN, RELAXATIONS, STRETCH_MAX, TWO_SIDED, length, relaxation, relaxation_by};
pub use shared::share_variance;
pub use variance::Bounds;
pub(crate) use variance::Error;
use variance::{Pair, Parts, error, ratio};

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
pub struct Overall {
    pub value: f64,
    pub n: u64,
    pub bounds: Bounds,
    /// Standard error, in the unit of the value; `None` of one run.
    pub standard_error: Option<f64>,
    pub degrees: f64,
    /// Whether the runs were long enough for an upper end.
    pub is_long_enough: bool,
}

impl Overall {
    /// The same in another unit, for example from nanoseconds to milliseconds by `1e-6`; the factor is above zero.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            bounds: self.bounds.scaled(factor),
            standard_error: self.standard_error.map(|error| error * factor),
            ..*self
        }
    }

    fn new(value: f64, n: usize, error: Option<Error>, (bounds, is_long_enough): (Bounds, bool)) -> Self {
        Self {
            value,
            n: n as u64,
            bounds,
            standard_error: error.map(|error| error.relative * value),
            degrees: error.map_or(0.0, |error| error.degrees),
            is_long_enough,
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

    fn parts(&self, of: impl Fn(&Batch) -> Pair) -> Vec<Parts> {
        self.runs.iter().map(|run| run.parts(&of)).collect()
    }
}

impl Pooled<'_> {
    /// Mean response time in ns over all requests of all runs; `None` where all took no time.
    pub fn tau(&self) -> Option<Overall> {
        let parts = self.parts(|batch| (batch.response_sum.0 as f64, batch.spectrum.count() as f64));
        let value = ratio(&parts)?;
        let error = error(&parts);
        let is_long_enough = self.is_long_enough;
        let bounds = error.map_or(Bounds::None, |error| error.on_reciprocal_scale(value, is_long_enough));
        Some(Overall::new(value, self.runs.len(), error, (bounds, is_long_enough)))
    }
}

impl Pooled<'_> {
    /// Completions per second over all runs; `None` where nothing was completed.
    ///
    /// In the long run as many complete as arrive, and what leaves a queue at rest is as independent as what comes (Burke,
    /// Oper. Res. 4 (1956) 699), so that its interval needs no long runs. It is built on the log scale.
    pub fn throughput(&self) -> Option<Overall> {
        let parts: Vec<Parts> = self
            .runs
            .iter()
            .map(|run| {
                let seconds = run.seconds / run.batches.len().max(1) as f64;
                let batches = run.batches.iter().map(|batch| (batch.completed as f64, seconds)).collect();
                Parts { whole: (run.completions as f64, run.seconds), batches }
            })
            .collect();
        let value = ratio(&parts)?;
        let error = error(&parts);
        let bounds = error.map_or(Bounds::None, |error| error.on_log_scale(value));
        Some(Overall::new(value, self.runs.len(), error, (bounds, true)))
    }
}

/// Between these times the odds of being above a percentile the slope of the distribution there is measured.
const ODDS: f64 = 2.0;

/// Fewest independent excursions above a percentile that bound it from below. Of M/M/1 queues at loads of 0.2 to 0.9 the
/// bounds of p50 to p99.9 then held in 98 %, at half as many in 95 %.
const EXCURSIONS_BOUND: f64 = 2.0;

/// Fewest of an interval with two ends up to [`MODERATE`]: they held in 97 %.
const EXCURSIONS_MODERATE: f64 = 4.0;

/// Percentile up to which the above is enough.
const MODERATE: f64 = 0.95;

/// Fewest beyond: there intervals on fewer held in 91 %, and on these in 94 %.
const EXCURSIONS_HIGH: f64 = 16.0;

impl Pooled<'_> {
    /// The response time in ns that this share of all requests of all runs does not exceed, 0.95 for p95, in the open
    /// interval from 0 to 1.
    ///
    /// How far it is off follows from how far the share of requests above it is off in runs and batches, times the slope
    /// of the distribution: a quantile moves by `dx = dp / f(x)`, with the density `f` (David and Nagaraja, Order
    /// Statistics, 3rd ed., chapter 10). Where the runs are too short for that, its lower bound is that of the highest
    /// percentile which they do bound, as no percentile is below a lower one.
    pub fn percentile(&self, quantile: f64) -> Option<Overall> {
        let value = self.spectrum.quantile(quantile)?;
        let error = self.percentile_error(quantile, value);
        let excursions = self.independent() * (1.0 - quantile);
        let enough = if quantile <= MODERATE { EXCURSIONS_MODERATE } else { EXCURSIONS_HIGH };
        let is_long_enough = self.is_long_enough && excursions >= enough;
        let bounds = match error {
            None => Bounds::None,
            Some(error) if excursions >= EXCURSIONS_BOUND => error.on_reciprocal_scale(value, is_long_enough),
            Some(_) => self.bound_of_lower(),
        };
        Some(Overall::new(value, self.runs.len(), error, (bounds, is_long_enough)))
    }

    /// The lower bound of the highest percentile that has one by itself.
    fn bound_of_lower(&self) -> Bounds {
        let quantile = 1.0 - EXCURSIONS_BOUND / self.independent();
        let value = self.spectrum.quantile(quantile).filter(|_| quantile > 0.0);
        let error = value.and_then(|value| Some((value, self.percentile_error(quantile, value)?)));
        error.map_or(Bounds::None, |(value, error)| error.on_reciprocal_scale(value, false))
    }

    /// Independent looks at the queue: one in a relaxation time, and no more than requests.
    fn independent(&self) -> f64 {
        (self.relaxations * self.runs.len() as f64).min(self.spectrum.count() as f64)
    }

    fn percentile_error(&self, quantile: f64, value: f64) -> Option<Error> {
        let parts = self.parts(|batch| (batch.spectrum.above(value), batch.spectrum.count() as f64));
        let (error, slope) = (error(&parts)?, self.slope(quantile)?);
        Some(Error { relative: error.relative * slope, ..error })
    }

    /// By how much the logarithm of the percentile rises as that of the share above it falls.
    fn slope(&self, quantile: f64) -> Option<f64> {
        let odds = (1.0 - quantile) / quantile;
        let at = |odds: f64| self.spectrum.quantile(1.0 / (1.0 + odds));
        let (low, high) = (at(odds * ODDS)?, at(odds / ODDS)?);
        let slope = (high / low).ln() / (2.0 * ODDS.ln());
        // ln(odds) rises by 1 / quantile where the logarithm of the share rises by 1.
        Some(slope / quantile).filter(|slope| slope.is_finite() && *slope >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SpectrumCounter;
    use proptest::prelude::*;

    /// A batch of these response times in ns.
    fn batch(responses: &[u64]) -> Batch {
        let mut counter = SpectrumCounter::new();
        responses.iter().for_each(|&response| counter.record(response));
        let count = responses.len() as u64;
        let response_sum = Nanos(responses.iter().sum());
        Batch { arrivals: count, lost: 0, completed: count, response_sum, spectrum: counter.take() }
    }

    fn run(batches: Vec<Batch>, seconds: f64) -> Run {
        let completions = batches.iter().map(|batch| batch.completed).sum();
        Run { batches, seconds, completions }
    }

    #[test]
    fn nothing_comes_of_runs_without_a_response() {
        assert!(Pooled::of(&[], None).is_none());
        assert!(Pooled::of(&[run(vec![Batch::default(); 20], 8.0)], None).is_none());
        assert!(Pooled::of(&[run(vec![batch(&[5]); 20], 0.0)], None).is_none());
    }

    #[test]
    fn a_percentile_with_hardly_a_request_above_it_is_bounded_by_a_lower_one() {
        // 240 requests that take up to 40 ns: two of them lie above p99.2, and nobody knows p99.9.
        let runs = vec![run(vec![batch(&[10, 20, 30, 40]); 20], 8.0); 3];
        let pooled = Pooled::of(&runs, None).unwrap();
        let Bounds::AtLeast(low) = pooled.percentile(0.999).unwrap().bounds else { panic!("no bound") };
        assert!(low > 30.0 && low <= 41.0, "{low}");
        assert!(matches!(pooled.percentile(0.9).unwrap().bounds, Bounds::TwoSided { .. }));
    }

    proptest! {
        #[test]
        fn no_end_is_negative_or_infinite_whatever_was_measured(
            all in prop::collection::vec(prop::collection::vec(prop::collection::vec(0..1u64 << 42, 0..6), 1..21), 1..6),
            quantile in 0.01..0.999_f64,
        ) {
            let runs: Vec<Run> = all
                .iter()
                .map(|batches| run(batches.iter().map(|responses| batch(responses)).collect(), 8.0))
                .collect();
            let figures = Pooled::of(&runs, None).map(|pooled| [pooled.tau(), pooled.percentile(quantile), pooled.throughput()]);
            for figure in figures.into_iter().flatten().flatten() {
                let ends = [figure.bounds.low(), figure.bounds.high()];
                prop_assert!(ends.iter().flatten().all(|end| *end >= 0.0 && end.is_finite()), "{figure:?}");
                prop_assert!(figure.bounds.low().is_none_or(|low| low <= figure.value), "{figure:?}");
                prop_assert!(figure.bounds.high().is_none_or(|high| high >= figure.value), "{figure:?}");
            }
        }
    }
}
