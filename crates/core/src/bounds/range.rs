use crate::caveat::threshold::RUNS_MIN_COUNT as RUNS_MIN;
use crate::statistics::{Sample, student_quantile};

/// Confidence of each bound by itself: both together are wrong in 5 % of cases.
const CONFIDENCE_ONE_SIDED: f64 = 0.975;

/// An interval of rates or of work; the lower end is never negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
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
/// runs or that of a Poisson process, `1 / sum n` (see [`Spread`]).
pub(super) fn ratio(runs: &[(f64, f64)]) -> Option<Range> {
    let (count, seconds) = runs.iter().fold((0.0, 0.0), |(n, t), run| (n + run.0, t + run.1));
    if runs.len() < RUNS_MIN || count <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let mean = count / seconds;
    let length = seconds / runs.len() as f64;
    let residuals: Sample = runs.iter().map(|(n, t)| (n - mean * t) / length / mean).collect();
    let between = residuals.variance()? / runs.len() as f64;
    let half = Spread::of(between, 1.0 / count, runs.len()).half_width();
    Some(Range { low: mean * (-half).exp(), high: mean * half.exp() })
}

/// Variance of a mean over a few runs, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    variance: f64,
    degrees: f64,
}

impl Spread {
    /// From the variance `B` between `R` runs and the variance `P` of counts of a Poisson process, both of the mean.
    ///
    /// Two or three runs may agree by chance, so where `B <= P` the variance is the mean of both, with `2 (R - 1)` degrees of
    /// freedom. Where `B > P` runs differ by something that counts do not have, such as a neighbour or a server that wanders: `B`
    /// stands alone, and the degrees fall to those of the runs, `(R - 1) (1 + P / B)`, as in
    /// [`pooled`](crate::statistics::pooled).
    pub(super) fn of(between: f64, counts: f64, runs: usize) -> Self {
        let degrees = runs as f64 - 1.0;
        if between <= counts {
            Self { variance: f64::midpoint(between, counts), degrees: 2.0 * degrees }
        } else {
            Self { variance: between, degrees: degrees * (1.0 + counts / between) }
        }
    }

    pub(super) fn half_width(self) -> f64 {
        student_quantile(CONFIDENCE_ONE_SIDED, self.degrees) * self.variance.sqrt()
    }
}
