//! Whether one thing is better than another, worse, or the same for all that matters.
//!
//! A difference is judged on the scale of logarithms, as a ratio. With `d` its estimate and `h` half the width of its 95 %
//! interval, and a margin within which two things count as the same:
//!
//! - *same* where the whole interval lies inside the margin (Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657, with 95 % in
//!   place of 90 %, so that *same* is wrong in at most 2.5 % of cases);
//! - *better* or *worse* where it leaves out 1 and does not lie inside the margin, wrong in at most 5 % of cases;
//! - else *not known yet*, with the number of runs that would most likely tell.

use crate::statistics::{CONFIDENCE, Ratio, Sample, normal_quantile, standard_error_bound, student_quantile};
use std::fmt;

/// Confidence of the upper bound of the spread over runs by which further runs are counted: a few runs may agree by chance.
const SPREAD_CONFIDENCE: f64 = 0.6;

/// Share of cases in which as many runs as are asked for are to tell, if the spread is as large as its bound.
const POWER: f64 = 0.7;

/// More runs than these on a side are not counted: it is too many, whatever they are.
const RUNS_MAX: u64 = 10_000;

/// Up to which ratio two figures count as the same, 0.05 for 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin(f64);

/// A margin that is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginError(pub f64);

impl fmt::Display for MarginError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a margin of {} is none: above 0 and at most 1 is needed", self.0)
    }
}

impl std::error::Error for MarginError {}

impl Margin {
    /// # Errors
    /// Not above zero and at most 1.
    pub fn new(share: f64) -> Result<Self, MarginError> {
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(MarginError(share)) }
    }

    /// As a share.
    pub fn share(self) -> f64 {
        self.0
    }

    fn log(self) -> f64 {
        self.0.ln_1p()
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More, as of throughput.
    Higher,
    /// Less, as of a response time.
    Lower,
}

/// The figure of each run on both sides, under the same conditions (one arrival rate, say).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Of the first thing, to which the other is compared.
    pub first: Vec<f64>,
    /// Of the second.
    pub second: Vec<f64>,
}

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Inside the margin.
    Same,
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// Neither; with the runs that would most likely tell, more on each side and under each condition. `None` where one run does
    /// not tell how much runs differ, or where more than 10,000 would be needed.
    NotKnown {
        /// Runs to add on each side and under each condition.
        runs_more: Option<u64>,
    },
}

/// The second as a multiple of the first, over all pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Ratio of geometric means; over several pairs the geometric mean of theirs.
    pub ratio: Ratio,
    /// What follows from the ratio, its interval and the margin.
    pub verdict: Verdict,
}

/// The difference of logarithms over all pairs: its mean, variance and degrees of freedom.
struct Difference {
    mean: f64,
    spread: Option<Spread>,
    /// Runs of the side and pair that has the fewest.
    runs: u64,
    pairs: usize,
}

struct Spread {
    variance: f64,
    degrees: f64,
}

impl Comparison {
    /// Every pair weighs the same. `None` without a pair, or where a figure is not above zero and finite.
    ///
    /// With `v` the variance of the mean of the logarithms of one side of one of `k` pairs, and `n` its runs, the difference has the
    /// variance `sum v / k^2`, and by Welch and Satterthwaite `(sum v)^2 / sum (v^2 / (n - 1))` degrees of freedom.
    pub fn of(pairs: &[Pair], margin: Margin, better: Better) -> Option<Self> {
        let difference = Difference::of(pairs)?;
        let half = difference.spread.as_ref().map(Spread::half_width);
        let ends = half.map(|half| (difference.mean - half, difference.mean + half));
        let ratio = Ratio {
            n: difference.runs,
            ratio: difference.mean.exp(),
            interval: ends.map(|(low, high)| (low.exp(), high.exp())),
        };
        let verdict = match ends {
            Some((low, high)) if low >= -margin.log() && high <= margin.log() => Verdict::Same,
            Some((low, high)) if low > 0.0 || high < 0.0 => {
                if (low > 0.0) == (better == Better::Higher) {
                    Verdict::Better
                } else {
                    Verdict::Worse
                }
            }
            _ => Verdict::NotKnown { runs_more: difference.runs_more(margin) },
        };
        Some(Self { ratio, verdict })
    }
}

impl Difference {
    fn of(pairs: &[Pair]) -> Option<Self> {
        let sides: Vec<(Sample, Sample)> = pairs
            .iter()
            .map(|pair| Some((logs(&pair.first)?, logs(&pair.second)?)))
            .collect::<Option<_>>()?;
        let count = sides.len() as f64;
        let mean =
            sides.iter().map(|(first, second)| Some(second.mean()? - first.mean()?)).sum::<Option<f64>>()?;
        let all = || sides.iter().flat_map(|(first, second)| [first, second]);
        Some(Self {
            mean: (count > 0.0).then(|| mean / count)?,
            spread: spread(all(), count),
            runs: all().map(Sample::n).min()?,
            pairs: sides.len(),
        })
    }

    /// As many runs as make the interval narrow enough for one of the verdicts, whatever the true difference is among those that
    /// are likely: it has to leave out 1, or lie inside the margin.
    fn runs_more(&self, margin: Margin) -> Option<u64> {
        let spread = self.spread.as_ref()?;
        let error = standard_error_bound(spread.variance.sqrt(), spread.degrees, SPREAD_CONFIDENCE);
        let wanted = telling(self.mean.abs(), spread.variance.sqrt(), margin.log());
        // Of so many runs on each side the standard error falls by the root.
        let enough = |runs: &u64| {
            let shrunk = error * (self.runs as f64 / *runs as f64).sqrt();
            let degrees = (2 * self.pairs) as f64 * (*runs as f64 - 1.0);
            (student_quantile(f64::midpoint(1.0, CONFIDENCE), degrees) + normal_quantile(POWER)) * shrunk
                <= wanted
        };
        let (mut low, mut high) = (self.runs, RUNS_MAX);
        if !error.is_finite() || !enough(&high) {
            return None;
        }
        while low < high {
            let middle = low.midpoint(high);
            if enough(&middle) { high = middle } else { low = middle + 1 }
        }
        Some((low - self.runs).max(1))
    }
}

/// Half the width that tells whichever of the likely true differences it is: `x` off 1 is told by `x` itself, or by what is left to the
/// margin, whichever is wider.
fn telling(found: f64, error: f64, margin: f64) -> f64 {
    let tells = |difference: f64| difference.max(margin - difference);
    let likely = [(found - error).max(0.0), found, found + error];
    likely.into_iter().map(tells).fold(f64::INFINITY, f64::min)
}

impl Spread {
    fn half_width(&self) -> f64 {
        match self.variance > 0.0 {
            true => student_quantile(f64::midpoint(1.0, CONFIDENCE), self.degrees) * self.variance.sqrt(),
            false => 0.0,
        }
    }
}

/// `None` where some side has one run only, which does not tell how much runs differ.
fn spread<'a>(sides: impl Iterator<Item = &'a Sample>, pairs: f64) -> Option<Spread> {
    let (mut variance, mut squares) = (0.0, 0.0);
    for side in sides {
        let own = side.variance()? / side.n() as f64;
        variance += own;
        squares += own * own / (side.n() as f64 - 1.0);
    }
    let degrees = if squares > 0.0 { variance * variance / squares } else { 1.0 };
    Some(Spread { variance: variance / (pairs * pairs), degrees })
}

fn logs(values: &[f64]) -> Option<Sample> {
    values.iter().map(|value| (*value > 0.0 && value.is_finite()).then(|| value.ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    fn margin() -> Margin {
        Margin::new(0.05).unwrap()
    }

    fn one(first: &[f64], second: &[f64]) -> Option<Comparison> {
        Comparison::of(&[Pair { first: first.to_vec(), second: second.to_vec() }], margin(), Better::Higher)
    }

    #[test]
    fn more_throughput_is_better_and_more_response_time_is_worse() {
        let pairs = [Pair { first: vec![100.0, 101.0, 99.0], second: vec![120.0, 121.0, 119.0] }];
        let of = |better| Comparison::of(&pairs, margin(), better).unwrap().verdict;
        assert_eq!((of(Better::Higher), of(Better::Lower)), (Verdict::Better, Verdict::Worse));
    }

    #[test]
    fn a_difference_that_is_certain_and_too_small_to_matter_is_none() {
        let found = one(&[100.0, 100.1, 99.9, 100.0], &[101.0, 101.1, 100.9, 101.0]).unwrap();
        assert!(found.ratio.differs());
        assert_eq!(found.verdict, Verdict::Same);
    }

    #[test]
    fn runs_that_differ_too_much_ask_for_more_of_them() {
        let found = one(&[100.0, 120.0, 80.0], &[104.0, 90.0, 121.0]).unwrap();
        let Verdict::NotKnown { runs_more: Some(more) } = found.verdict else { panic!("{found:?}") };
        assert!((20..5_000).contains(&more), "{more}");
        let wide = Margin::new(1.0).unwrap();
        let pairs = [Pair { first: vec![100.0, 120.0, 80.0], second: vec![104.0, 90.0, 121.0] }];
        let found = Comparison::of(&pairs, wide, Better::Higher).unwrap();
        assert!(found.verdict == Verdict::Same, "{found:?}");
    }

    #[test]
    fn one_run_tells_a_ratio_and_nothing_of_its_spread() {
        let found = one(&[100.0], &[150.0, 151.0]).unwrap();
        assert!((found.ratio.interval, found.verdict) == (None, Verdict::NotKnown { runs_more: None }));
        assert_eq!(one(&[], &[1.0]), None);
        assert_eq!(one(&[1.0, 0.0], &[1.0]), None);
        assert_eq!(Comparison::of(&[], margin(), Better::Lower), None);
    }

    #[test]
    fn what_has_no_spread_at_all_is_known() {
        assert_eq!(one(&[5.0, 5.0], &[5.0, 5.0]).unwrap().verdict, Verdict::Same);
        assert_eq!(one(&[5.0, 5.0], &[6.0, 6.0]).unwrap().verdict, Verdict::Better);
    }

    #[test]
    fn several_conditions_are_one_comparison() {
        let pair = |scale: f64| Pair {
            first: [1.0, 1.05, 0.95].map(|value| scale * value).to_vec(),
            second: [1.1, 1.15, 1.05].map(|value| scale * value).to_vec(),
        };
        let single = Comparison::of(&[pair(3.0)], margin(), Better::Lower).unwrap();
        let three = [pair(3.0), pair(10.0), pair(40.0)];
        let all = Comparison::of(&three, margin(), Better::Lower).unwrap();
        assert!((single.ratio.ratio - all.ratio.ratio).abs() < 1e-12);
        let width = |found: &Comparison| found.ratio.interval.map(|(low, high)| high - low).unwrap();
        assert!(width(&all) < 0.6 * width(&single) && all.verdict == Verdict::Worse, "{all:?}");
    }

    #[test]
    fn a_margin_is_above_nothing_and_at_most_all() {
        for share in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(Margin::new(share).is_err(), "{share}");
        }
    }

    #[test]
    fn verdicts_are_wrong_as_rarely_as_they_say() {
        let mut random = Random::new(Seed(11));
        let mut draw = |true_ratio: f64, spread: f64, runs: usize| -> Vec<f64> {
            (0..runs).map(|_| true_ratio * (spread * random.normal()).exp()).collect()
        };
        let (mut false_verdicts, mut false_same) = (0, 0);
        for number in 0..2_000 {
            let (spread, runs) = ([0.02, 0.05, 0.1][number % 3], 3 + number % 5);
            let alike = one(&draw(1.0, spread, runs), &draw(1.0, spread, runs)).unwrap();
            false_verdicts += u32::from(matches!(alike.verdict, Verdict::Better | Verdict::Worse));
            let apart = one(&draw(1.0, spread, runs), &draw(1.1, spread, runs)).unwrap();
            false_same += u32::from(apart.verdict == Verdict::Same);
        }
        assert!(false_verdicts <= 110 && false_same <= 60, "{false_verdicts} {false_same}");
    }
}
