use super::CONFIDENCE;
use super::student::student_quantile;

/// A running mean and variance (Welford, Technometrics 4 (1962) 419), which neither keeps the values nor
/// loses digits where the spread is small beside the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    n: u64,
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Sample {
    pub const fn new() -> Self {
        Self { n: 0, mean: 0.0, squares: 0.0 }
    }

    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let distance = value - self.mean;
        self.mean += distance / self.n as f64;
        self.squares += distance * (value - self.mean);
    }

    /// Adds the values of another sample (Chan, Golub and LeVeque, 1979).
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        let n = (self.n + other.n) as f64;
        let distance = other.mean - self.mean;
        self.squares += other.squares + distance * distance * (self.n as f64 * other.n as f64 / n);
        self.mean += distance * (other.n as f64 / n);
        self.n += other.n;
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// Variance with divisor `n - 1`; `None` of fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.n > 1).then(|| self.squares / (self.n - 1) as f64)
    }

    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Standard error of the mean, `s / sqrt(n)`; `None` of fewer than two values.
    pub fn standard_error(&self) -> Option<f64> {
        self.standard_deviation().map(|deviation| deviation / (self.n as f64).sqrt())
    }

    pub fn estimate(&self) -> Option<Estimate> {
        let error = self.standard_error();
        self.mean().map(|mean| Estimate::with_error(self.n, mean, error, (self.n - 1) as f64))
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sample = Self::new();
        values.into_iter().for_each(|value| sample.push(value));
        sample
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub n: u64,
    pub mean: f64,
    /// How far it can be off; `None` where a single value says nothing about that.
    pub error: Option<ErrorBar>,
}

/// The standard error of a mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBar {
    pub standard_error: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    pub fn of(values: &[f64]) -> Option<Self> {
        values.iter().copied().collect::<Sample>().estimate()
    }

    /// The interval `mean - t se .. mean + t se`, with `t` the quantile of Student's distribution.
    pub(super) fn with_error(n: u64, mean: f64, standard_error: Option<f64>, degrees: f64) -> Self {
        let error = standard_error.map(|standard_error| {
            let half = student_quantile(f64::midpoint(1.0, CONFIDENCE), degrees) * standard_error;
            ErrorBar { standard_error, low: mean - half, high: mean + half }
        });
        Self { n, mean, error }
    }

    pub fn standard_error(&self) -> Option<f64> {
        self.error.map(|error| error.standard_error)
    }

    pub fn low(&self) -> Option<f64> {
        self.error.map(|error| error.low)
    }

    pub fn high(&self) -> Option<f64> {
        self.error.map(|error| error.high)
    }

    /// Whether the interval holds this value; no where the interval is unknown.
    pub fn contains(&self, value: f64) -> bool {
        self.error.is_some_and(|error| (error.low..=error.high).contains(&value))
    }

    /// The same in another unit, for example from nanoseconds to milliseconds by `1e-6`.
    pub fn scaled(&self, factor: f64) -> Self {
        let error = self.error.map(|error| {
            let (one, other) = (error.low * factor, error.high * factor);
            let standard_error = error.standard_error * factor.abs();
            ErrorBar { standard_error, low: one.min(other), high: one.max(other) }
        });
        Self { n: self.n, mean: self.mean * factor, error }
    }
}

/// Batches that a run is cut into where it is long enough; more gain little and make each shorter, that is
/// more dependent (Schmeiser, Oper. Res. 30 (1982) 556: 10 to 30).
pub const BATCHES: usize = 20;

/// Non-overlapping batch means of one run.
///
/// The response times of neighbouring requests depend on one another, so `s / sqrt(n)` over requests is far
/// too small. The run is cut into `b` batches of equal duration. With `N_j` arrivals and the sum `S_j` of
/// their response times in batch `j`, the mean is `m = sum S / sum N`, and its variance that of the
/// residuals `d_j = (S_j - m N_j) / mean(N)`, divided by the number of *independent* batches
/// `e = b (1 - r) / (1 + r)`, where `r` is the lag-1 correlation of the `d_j`, taken as 0 where negative.
/// The interval uses Student's t with `e - 1` degrees of freedom, one at least.
///
/// Sources: Law, Simulation Modeling and Analysis, 5th ed., section 9.5.3 (batch means); Cochran, Sampling
/// Techniques, 3rd ed., chapter 6 (variance of a ratio); Bartlett, J. R. Stat. Soc. 98 (1935) 536
/// (effective number under first-order correlation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    /// Mean over requests with its interval; `n` is the number of batches.
    pub mean: Estimate,
    pub batches: usize,
    /// Lag-1 correlation between batches; `None` of fewer than three batches or without any variation.
    pub lag1: Option<f64>,
    /// Effective number of independent batches, from 1 to `batches`.
    pub independent: f64,
}

impl BatchMeans {
    /// From the number of values and their sum in each interval of the run, all of the same duration,
    /// cut into `batches` (commonly [`BATCHES`]) or as many as there are intervals. Intervals that do not
    /// fill a batch are spread over the first ones. `None` without any value.
    pub fn of(intervals: &[(u64, f64)], batches: usize) -> Option<Self> {
        let batches = batches.clamp(1, intervals.len().max(1));
        let sums: Vec<(f64, f64)> = (0..batches)
            .map(|batch| batch * intervals.len() / batches..(batch + 1) * intervals.len() / batches)
            .map(|range| {
                intervals[range].iter().fold((0.0, 0.0), |(n, s), &(count, sum)| (n + count as f64, s + sum))
            })
            .collect();
        let count: f64 = sums.iter().map(|(n, _)| n).sum();
        if count == 0.0 {
            return None;
        }
        let mean = sums.iter().map(|(_, s)| s).sum::<f64>() / count;
        let count_mean = count / batches as f64;
        let residuals: Vec<f64> = sums.iter().map(|(n, s)| (s - mean * n) / count_mean).collect();
        let lag1 = if batches < 3 { None } else { correlation(&residuals) };
        let r = lag1.unwrap_or(0.0).max(0.0);
        let independent = (batches as f64 * (1.0 - r) / (1.0 + r)).max(1.0);
        let deviation = residuals.iter().copied().collect::<Sample>().standard_deviation();
        let error = deviation.map(|deviation| deviation / independent.sqrt());
        let mean = Estimate::with_error(batches as u64, mean, error, (independent - 1.0).max(1.0));
        Some(Self { mean, batches, lag1, independent })
    }
}

/// Lag-1 correlation of values with mean zero.
fn correlation(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let products: f64 = values.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (squares > 0.0).then(|| products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_a_worked_example() {
        // Mean 3, s = sqrt(2.5), se = sqrt(0.5), t(0.975, 4) = 2.776445105.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((estimate.standard_error().unwrap() - 0.5_f64.sqrt()).abs() < 1e-15);
        assert!((estimate.high().unwrap() - 4.963_243_1).abs() < 1e-6);
        assert!((estimate.low().unwrap() - 1.036_756_9).abs() < 1e-6);
        let flipped = estimate.scaled(-2.0);
        assert_eq!(flipped.low(), estimate.high().map(|high| -2.0 * high));
    }

    #[test]
    fn a_small_spread_beside_a_large_mean_is_kept() {
        let sample: Sample = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0].into_iter().collect();
        assert_eq!(sample.variance(), Some(30.0));
    }

    proptest! {
        #[test]
        fn the_running_figures_are_those_of_two_passes(values in prop::collection::vec(-1e6..1e6_f64, 2..200)) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let sample: Sample = values.iter().copied().collect();
            prop_assert!((sample.mean().unwrap() - mean).abs() < 1e-8);
            prop_assert!((sample.variance().unwrap() / variance.max(1e-300) - 1.0).abs() < 1e-8);
        }

        #[test]
        fn a_merge_is_the_sample_of_all_values(values in prop::collection::vec(-1e3..1e3_f64, 2..50), cut: prop::sample::Index) {
            let (front, back) = values.split_at(cut.index(values.len()));
            let mut merged: Sample = front.iter().copied().collect();
            merged.merge(&back.iter().copied().collect());
            let all: Sample = values.iter().copied().collect();
            prop_assert_eq!(merged.n(), all.n());
            prop_assert!((merged.mean().unwrap() - all.mean().unwrap()).abs() < 1e-10);
            prop_assert!((merged.variance().unwrap() - all.variance().unwrap()).abs() < 1e-7);
        }
    }

    /// Intervals of 10 values each, a first-order autoregression of coefficient `r` around 5.
    fn autoregression(r: f64, intervals: usize, seed: u64) -> Vec<(u64, f64)> {
        let mut random = Random::new(Seed(seed));
        let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut value = noise() / (1.0 - r * r).sqrt();
        (0..intervals)
            .map(|_| {
                value = r * value + noise();
                (10, 10.0 * (5.0 + value))
            })
            .collect()
    }

    #[test]
    fn equal_batches_agree_with_the_textbook() {
        // Batch means 1, 4, 2, 5: mean 3; independent as the lag-1 correlation is negative.
        let means = BatchMeans::of(&[(10, 10.0), (10, 40.0), (10, 20.0), (10, 50.0)], 4).unwrap();
        assert!((means.mean.mean - 3.0).abs() < 1e-12);
        assert!((means.mean.standard_error().unwrap() - (10.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(means.independent, 4.0);
        assert!(means.lag1.unwrap() < 0.0);
    }

    #[test]
    fn the_interval_covers_the_truth_although_values_depend_on_one_another() {
        for (r, intervals) in [(0.0, 60), (0.6, 180), (0.9, 600)] {
            let covered = (0..400)
                .filter(|&seed| {
                    BatchMeans::of(&autoregression(r, intervals, seed), BATCHES).unwrap().mean.contains(5.0)
                })
                .count();
            assert!((368..=396).contains(&covered), "r {r}: {covered} of 400");
        }
    }

    #[test]
    fn a_run_too_short_for_its_memory_has_few_independent_batches() {
        let means: Vec<_> =
            (0..100).map(|seed| BatchMeans::of(&autoregression(0.98, 40, seed), BATCHES).unwrap()).collect();
        let independent = means.iter().map(|means| means.independent).sum::<f64>() / 100.0;
        assert!(independent < 8.0, "{independent}");
    }

    proptest! {
        #[test]
        fn the_mean_is_that_of_all_values_for_any_cut(
            intervals in prop::collection::vec((0..50_u64, 0.0..1e3_f64), 1..100), batches in 0..60_usize
        ) {
            let count: u64 = intervals.iter().map(|(n, _)| n).sum();
            let sum: f64 = intervals.iter().map(|(_, s)| s).sum();
            match BatchMeans::of(&intervals, batches) {
                None => prop_assert_eq!(count, 0),
                Some(means) => prop_assert!((means.mean.mean - sum / count as f64).abs() < 1e-8),
            }
        }
    }
}
