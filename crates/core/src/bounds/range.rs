//! Intervals, and the one of a rate over several runs.

use crate::statistics::{Sample, student_quantile};

/// Runs below which nothing is certain: one may settle, or fail to, by chance.
pub const RUNS_MIN: usize = 3;

/// An interval of rates or of work; the lower end is never negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// Width beside the middle; infinite around zero.
    pub fn relative_width(&self) -> f64 {
        let middle = f64::midpoint(self.low, self.high);
        if middle > 0.0 { (self.high - self.low) / middle } else { f64::INFINITY }
    }
}

/// The 95 % interval of `sum n / sum T` over runs with `n` completions in `T` seconds; `None` of fewer than two.
///
/// A ratio estimate (Cochran, Sampling Techniques, 3rd ed., chapter 6) on the logarithmic scale, with the variance between
/// runs or that of a Poisson process, `1 / sum n`, and `2 (R - 1)` degrees of freedom.
pub(super) fn ratio(runs: &[(f64, f64)]) -> Option<Range> {
    let (count, seconds) = runs.iter().fold((0.0, 0.0), |(n, t), run| (n + run.0, t + run.1));
    if runs.len() < RUNS_MIN || count <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let mean = count / seconds;
    let length = seconds / runs.len() as f64;
    let residuals: Sample = runs.iter().map(|(n, t)| (n - mean * t) / length / mean).collect();
    let between = residuals.variance()? / runs.len() as f64;
    let error = moderated(between, 1.0 / count).sqrt();
    let half = student_quantile(0.975, 2.0 * (runs.len() as f64 - 1.0)) * error;
    Some(Range { low: mean * (-half).exp(), high: mean * half.exp() })
}

/// The variance of a mean over a few runs, from that between the runs and that which counts of a Poisson process have. Two
/// or three runs may agree by chance, so that the first is at least the mean of both; neighbours make it larger than the
/// second, and then it stands.
pub(super) fn moderated(between: f64, counts: f64) -> f64 {
    between.max(f64::midpoint(between, counts))
}
