use super::mean::{Estimate, Sample};

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
