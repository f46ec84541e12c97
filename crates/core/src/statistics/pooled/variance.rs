//! How far a ratio of sums over runs is off.

use crate::statistics::{CONFIDENCE, student_quantile};

/// Highest lag-1 correlation of batches that is corrected for: the correction is then 19-fold, and runs are much too
/// short for any.
const CORRELATION_MAX: f64 = 0.9;

/// Confidence of a lower bound that stands alone. More than that of an interval's end, because a bound stands alone where the
/// response happened to be high rather than low: of M/M/1 queues at a load of 0.8, bounds of 97.5 % then held in 94 %.
const BOUND: f64 = 0.99;

pub(super) type Pair = (f64, f64);

/// A run: its sums, and those of its batches.
pub(super) struct Parts {
    pub whole: Pair,
    pub batches: Vec<Pair>,
}

/// The error of a ratio, relative to it, which for small errors is that of its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Error {
    pub relative: f64,
    pub degrees: f64,
}

impl Error {
    /// From the variance `B` between runs and the variance `W` of what runs that differ by nothing else have.
    ///
    /// Where `B <= W`, runs differ by no more than that. Both then estimate the same, and the variance is their mean, with
    /// twice the degrees of freedom of `B`. Where `B > W`, runs may differ by something that `W` does not see, such as a neighbour on the
    /// machine: the variance is `B`, with `1 + W / B` times its degrees, which fall to those of the runs alone.
    pub fn of(between: f64, within: f64, degrees: f64) -> Self {
        if between <= within {
            Self { relative: f64::midpoint(between, within).sqrt(), degrees: 2.0 * degrees }
        } else {
            Self { relative: between.sqrt(), degrees: degrees * (1.0 + within / between) }
        }
    }

    pub fn half(self) -> f64 {
        self.distance(f64::midpoint(1.0, CONFIDENCE))
    }

    /// Relative distance that an error exceeds on one side with probability `1 - p`.
    fn distance(self, p: f64) -> f64 {
        student_quantile(p, self.degrees) * self.relative
    }

    pub fn on_log_scale(self, value: f64) -> Bounds {
        let half = self.half().exp();
        Bounds::TwoSided { low: value / half, high: value * half }
    }

    /// The interval that is symmetric on the scale of the reciprocal; where it reaches zero there, and where
    /// `is_long_enough` is not so, only the lower end.
    pub fn on_reciprocal_scale(self, value: f64, is_long_enough: bool) -> Bounds {
        let half = self.half();
        if is_long_enough && half < 1.0 {
            Bounds::TwoSided { low: value / (1.0 + half), high: value / (1.0 - half) }
        } else {
            Bounds::AtLeast(value / (1.0 + self.distance(BOUND)))
        }
    }
}

pub(super) fn sum(pairs: &[Pair]) -> Pair {
    pairs.iter().fold((0.0, 0.0), |(n, d), pair| (n + pair.0, d + pair.1))
}

/// The ratio of the sums over all runs; `None` where it is not above zero and finite.
pub(super) fn ratio(runs: &[Parts]) -> Option<f64> {
    let wholes: Vec<Pair> = runs.iter().map(|run| run.whole).collect();
    let (numerator, denominator) = sum(&wholes);
    Some(numerator / denominator).filter(|ratio| *ratio > 0.0 && ratio.is_finite())
}

/// The error of [`ratio`]; `None` of fewer than two runs.
///
/// With the sums `N_i` and `D_i` of run `i` of `R`, `m = sum N / sum D` and `d_i = N_i - m D_i`:
/// - between runs, `B = R / (R - 1) sum d_i^2 / (sum N)^2` (Cochran, Sampling Techniques, 3rd ed., chapter 6);
/// - within runs, the same over the `b` batches of each, each run about its own ratio, so that what sets runs apart
///   does not count: `W = b / (b - 1) sum d_ij^2 / (sum N)^2 (1 + r) / (1 - r)`, with the lag-1 correlation `r` of batches
///   over all runs (Bartlett, J. R. Stat. Soc. 98 (1935) 536), never below 0, and raised by what a
///   correlation about an estimated mean is too low, `(1 + 3 r) / b` (Marriott and Pope, Biometrika 41 (1954) 390).
///
/// The two make the variance by [`Error::of`]. Twice the degrees of `B` are fewer than the `4 (R - 1)` that a `W` without error
/// would bring, because batches are neither independent nor normal.
pub(super) fn error(runs: &[Parts]) -> Option<Error> {
    let count = runs.len() as f64;
    let wholes: Vec<Pair> = runs.iter().map(|run| run.whole).collect();
    let (numerator, denominator) = sum(&wholes);
    let squares: f64 = residuals(&wholes, numerator / denominator).iter().map(|d| d * d).sum();
    if runs.len() < 2 || numerator <= 0.0 {
        return None;
    }
    let between = squares * count / (count - 1.0) / numerator.powi(2);
    let degrees = count - 1.0;
    Some(match within(runs) {
        Some(within) => Error::of(between, within / numerator.powi(2), degrees),
        None => Error { relative: between.sqrt(), degrees },
    })
}

/// Distance of each numerator from what the ratio makes of its denominator.
fn residuals(pairs: &[Pair], ratio: f64) -> Vec<f64> {
    pairs.iter().map(|(numerator, denominator)| numerator - ratio * denominator).collect()
}

/// Variance of the sum of all numerators by batches; `None` where a run has too few of them.
fn within(runs: &[Parts]) -> Option<f64> {
    let (mut variance, mut squares, mut neighbours, mut batches) = (0.0, 0.0, 0.0, 0.0);
    for run in runs.iter().filter(|run| sum(&run.batches).1 > 0.0) {
        let count = run.batches.len() as f64;
        if run.batches.len() < 3 {
            return None;
        }
        let (numerator, denominator) = sum(&run.batches);
        let residuals = residuals(&run.batches, numerator / denominator);
        let own: f64 = residuals.iter().map(|d| d * d).sum();
        variance += own * count / (count - 1.0);
        squares += own;
        neighbours += residuals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        batches += count;
    }
    let r = if squares > 0.0 { neighbours / squares } else { 0.0 };
    let unbiased = r + (1.0 + 3.0 * r) * runs.len() as f64 / batches;
    let r = unbiased.clamp(0.0, CORRELATION_MAX);
    (batches > 0.0).then(|| variance * (1.0 + r) / (1.0 - r))
}

/// An interval, or the lower end alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// The 95 % interval.
    TwoSided { low: f64, high: f64 },
    /// It is at least this (99 %), and nothing can be said about how much more.
    AtLeast(f64),
    /// One run alone says nothing about its error.
    None,
}

impl Bounds {
    pub fn low(&self) -> Option<f64> {
        match *self {
            Self::TwoSided { low, .. } | Self::AtLeast(low) => Some(low),
            Self::None => None,
        }
    }

    pub fn high(&self) -> Option<f64> {
        match *self {
            Self::TwoSided { high, .. } => Some(high),
            Self::AtLeast(_) | Self::None => None,
        }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        match self {
            Self::TwoSided { low, high } => Self::TwoSided { low: low * factor, high: high * factor },
            Self::AtLeast(low) => Self::AtLeast(low * factor),
            Self::None => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    /// Runs of 20 batches of 100 values around 5; runs differ by a standard deviation of `apart` times what their
    /// batches make of them.
    fn runs(count: usize, apart: f64, random: &mut Random) -> Vec<Parts> {
        let mut run = || {
            let own = apart * random.normal() / 20.0_f64.sqrt();
            let batches: Vec<Pair> =
                (0..20).map(|_| (100.0 * (5.0 + own + random.normal()), 100.0)).collect();
            Parts { whole: sum(&batches), batches }
        };
        (0..count).map(|_| run()).collect()
    }

    /// Of 2,000 intervals, how many hold the truth, and their mean half width relative to that with the true variance.
    fn held(count: usize, apart: f64) -> (usize, f64) {
        let mut random = Random::new(Seed(17));
        let truth = (1.0 + apart * apart).sqrt() / 20.0_f64.sqrt() / (count as f64).sqrt() / 5.0 * 1.96;
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..2_000 {
            let runs = runs(count, apart, &mut random);
            let half = error(&runs).unwrap().half();
            held += usize::from((ratio(&runs).unwrap() / 5.0 - 1.0).abs() < half);
            width += half / truth / 2_000.0;
        }
        (held, width)
    }

    #[test]
    fn intervals_of_runs_that_differ_by_chance_alone_hold_and_are_narrow() {
        for count in [3, 5, 10] {
            let (held, width) = held(count, 0.0);
            assert!((1_880..=1_980).contains(&held), "{count} runs: {held} of 2000");
            assert!(width < 1.7, "{count} runs: {width}");
        }
    }

    #[test]
    fn intervals_of_runs_that_differ_by_more_than_their_batches_say_hold() {
        for count in [3, 5, 10] {
            for apart in [1.0, 2.0, 5.0] {
                let (held, _) = held(count, apart);
                assert!((1_820..=1_970).contains(&held), "{count} runs, {apart} apart: {held} of 2000");
            }
        }
    }

    #[test]
    fn the_worked_error_of_two_runs() {
        // Ratios 4 and 6 of 3 batches each, no difference within: B = 2 (1 + 1) / 10^2, one degree.
        let run = |value: f64| Parts { whole: (value, 1.0), batches: vec![(value / 3.0, 1.0 / 3.0); 3] };
        let found = error(&[run(4.0), run(6.0)]).unwrap();
        assert!((found.relative - 0.2).abs() < 1e-12 && (found.degrees - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!(error(&[run(4.0)]), None);
    }

    #[test]
    fn runs_that_agree_to_the_last_digit_have_no_error() {
        let run = || Parts { whole: (8.0, 4.0), batches: vec![(2.0, 1.0); 4] };
        assert_eq!(error(&[run(), run()]), Some(Error { relative: 0.0, degrees: 2.0 }));
    }

    #[test]
    fn runs_with_too_few_batches_are_judged_by_runs_alone() {
        let run = |value: f64| Parts { whole: (value, 1.0), batches: vec![(value, 1.0)] };
        assert_eq!(error(&[run(4.0), run(6.0), run(5.0)]).unwrap().degrees, 2.0);
    }

    #[test]
    fn an_error_as_large_as_the_figure_leaves_a_lower_bound() {
        let wide = Error { relative: 1.0, degrees: 1e12 };
        assert!(
            matches!(wide.on_reciprocal_scale(10.0, true), Bounds::AtLeast(low) if (low - 3.01).abs() < 0.01)
        );
        let narrow = Error { relative: 0.1, degrees: 1e12 };
        assert!(
            matches!(narrow.on_reciprocal_scale(10.0, true), Bounds::TwoSided { low, high } if low > 8.3 && high < 12.5)
        );
        assert!(matches!(narrow.on_reciprocal_scale(10.0, false), Bounds::AtLeast(_)));
    }
}
