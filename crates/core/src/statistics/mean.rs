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

#[cfg(test)]
mod tests {
    use super::*;
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
}
