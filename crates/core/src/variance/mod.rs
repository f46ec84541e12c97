//! Why repeats differ: the variance between requests, runs, starts, populations and targets, each with an interval.
//!
//! A run's mean response is the unit, `y = mean + target + population + start + run + requests`, and each part has a
//! variance of its own. A level with a single unit is not seen at all, and one that changes only together with the level above
//! it counts with that. Numbers of units may differ anywhere.
//!
//! Estimates are those of moments by unweighted sums of squares: each unit counts by the plain mean of what lies within it,
//! and the mean square of a level over its parents, `S`, has an expectation that is linear in the variances (Thomas and
//! Hultquist, Ann. Statist. 6 (1978) 582; Burdick and Graybill, Confidence Intervals on Variance Components, 1992, chapters 4
//! to 6). From the lowest level up each variance is a sum of mean squares with known factors ([`interval`] makes the interval).
//!
//! Requests of a run depend on one another, so that their variance is that of batches of a run, with their correlation
//! ([`Requests`]). Parts are taken to be normal: of starts that come out one of two ways the interval is too wide.

mod components;
mod design;

use crate::statistics::{CONFIDENCE, chi_square_quantile, fisher_quantile};
pub use components::{Component, Components, Costs, Dominant, Repeat, Requests};
pub use design::{Level, Observation, Position, VarianceError};

/// Share of what an interval leaves out that lies at its lower end. A variance that is zero in truth is left out at that end alone:
/// with seven tenths its interval holds in 96.5 %, and with half in 97.5 %.
const AT_LOWER_END: f64 = 0.7;

/// A mean square with its factor in the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    pub factor: f64,
    pub mean_square: f64,
    pub degrees: f64,
}

impl Term {
    fn size(&self) -> f64 {
        self.factor.abs() * self.mean_square
    }
}

/// The 95 % interval of the sum, which is not below zero, by the modified large sample method (Graybill and Wang, J. Am. Stat. Assoc.
/// 75 (1980) 869; with negative factors Ting, Burdick, Graybill, Jeyaratnam and Lu, J. Stat. Comput. Simul. 35 (1990) 135): exact
/// where one of the mean squares is zero or has many degrees of freedom, and nearly so between, also with two
/// degrees of freedom. Terms of the same sign are taken as independent without the small correction for pairs of them.
fn interval(terms: &[Term]) -> (f64, f64) {
    let sum: f64 = terms.iter().map(|term| term.factor * term.mean_square).sum();
    let left_out = 1.0 - CONFIDENCE;
    let (lower, upper) = (left_out * AT_LOWER_END, left_out * (1.0 - AT_LOWER_END));
    let (plus, minus): (Vec<&Term>, Vec<&Term>) = terms.iter().partition(|term| term.factor >= 0.0);
    let low = sum - reach(&minus, &plus, lower, Side::Low);
    let high = sum + reach(&plus, &minus, upper, Side::High);
    (low.max(0.0), high.max(0.0))
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Low,
    High,
}

/// How far the sum may lie from the truth to one side: `rising` are the terms whose true mean square may be much larger than it was found,
/// `falling` those whose may be smaller.
fn reach(rising: &[&Term], falling: &[&Term], left_out: f64, side: Side) -> f64 {
    let larger = |term: &Term| term.degrees / chi_square_quantile(left_out, term.degrees) - 1.0;
    let smaller = |term: &Term| 1.0 - term.degrees / chi_square_quantile(1.0 - left_out, term.degrees);
    let square = |terms: &[&Term], by: &dyn Fn(&Term) -> f64| {
        terms.iter().map(|term| (by(term) * term.size()).powi(2)).sum::<f64>()
    };
    let mut variance = square(rising, &larger) + square(falling, &smaller);
    for up in rising {
        for down in falling {
            let (h, g) = (larger(up), smaller(down));
            let cross = match side {
                Side::Low => {
                    let f = fisher_quantile(1.0 - left_out, down.degrees, up.degrees);
                    ((f - 1.0).powi(2) - (g * f).powi(2) - h * h) / f
                }
                Side::High => {
                    let f = fisher_quantile(left_out, up.degrees, down.degrees);
                    ((1.0 - f).powi(2) - (h * f).powi(2) - g * g) / f
                }
            };
            variance += cross * up.size() * down.size();
        }
    }
    variance.max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    fn at(start: u32, run: u32, mean: f64) -> Observation {
        Observation { place: Position { start, run, ..Position::default() }, mean, batches: Vec::new() }
    }

    #[test]
    fn equal_numbers_give_the_estimates_of_the_analysis_of_variance() {
        // Starts at 10, 14 and 12 of two runs each, one above and one below by 1: mean squares 8 between and 2 within.
        let runs: Vec<Observation> = [(0, 10.0), (1, 14.0), (2, 12.0)]
            .iter()
            .flat_map(|(start, mean)| [at(*start, 0, mean - 1.0), at(*start, 1, mean + 1.0)])
            .collect();
        let found = Components::of(&runs).unwrap();
        let [start, run] = found.all.as_slice() else { panic!("{found:?}") };
        assert_eq!((start.level, run.level), (Level::Start, Level::Run));
        assert!((start.variance - 3.0).abs() < 1e-12 && (run.variance - 2.0).abs() < 1e-12, "{found:?}");
        assert!((start.degrees - 2.0).abs() < 1e-9 && (run.degrees - 3.0).abs() < 1e-9, "{found:?}");
        assert!((found.mean - 12.0).abs() < 1e-12);
        assert!((found.variance_of_mean() - (3.0 / 3.0 + 2.0 / 6.0)).abs() < 1e-12);
        assert_eq!(run.with, [Level::Request]);
        let dominant = found.dominant().unwrap();
        assert!(
            dominant.level == Level::Start && !dominant.is_certain && (dominant.share - 0.6).abs() < 1e-12
        );
    }

    #[test]
    fn a_level_that_changes_only_with_the_one_above_counts_with_it() {
        let one_run_each: Vec<Observation> =
            (0..4).map(|start| at(start, 0, 10.0 + f64::from(start))).collect();
        let found = Components::of(&one_run_each).unwrap();
        assert_eq!(found.all.len(), 1);
        assert_eq!(
            (found.all[0].level, found.all[0].with.as_slice()),
            (Level::Start, &[Level::Run, Level::Request][..])
        );
    }

    #[test]
    fn runs_that_say_nothing_are_refused_by_name() {
        assert_eq!(Components::of(&[at(0, 0, 1.0)]), Err(VarianceError::TooFewRuns(1)));
        let place = Position { run: 1, ..Position::default() };
        assert_eq!(
            Components::of(&[at(0, 0, 1.0), at(0, 1, f64::NAN)]),
            Err(VarianceError::NoResponse(place))
        );
        assert_eq!(Components::of(&[at(0, 1, 1.0), at(0, 1, 2.0)]), Err(VarianceError::TwiceAt(place)));
    }

    #[test]
    fn one_more_of_the_level_that_varies_pays_most_unless_it_is_dear() {
        let runs: Vec<Observation> = [8.0, 12.0, 10.0, 14.0]
            .iter()
            .enumerate()
            .flat_map(|(start, mean)| {
                [-0.2, 0.0, 0.2]
                    .iter()
                    .enumerate()
                    .map(move |(run, by)| at(start as u32, run as u32, mean + by))
            })
            .collect();
        let found = Components::of(&runs).unwrap();
        let best = |costs: &Costs| found.repeats(costs)[0].level;
        assert_eq!(best(&Costs::default()), Level::Start);
        assert_eq!(best(&Costs([0.0, 0.0, 1e6, 1.0, 0.0])), Level::Run);
        let more = found.repeats(&Costs::default())[0];
        assert_eq!(more.cost, 3.0);
        let of = |level: Level| found.all.iter().find(|one| one.level == level).unwrap().variance;
        let expected = of(Level::Start) / 5.0 + of(Level::Run) / 15.0;
        assert!((more.variance_after - expected).abs() < 1e-12, "{more:?}");
    }

    #[test]
    fn requests_that_depend_on_one_another_count_as_often_as_they_are_independent() {
        // Batches of 50 requests with a memory of ten: 1 / (1 - 0.9)^2 times the variance of a single step.
        let mut random = Random::new(Seed(5));
        let mut memory = 0.0;
        let mut batch = || {
            let sum = (0..50).map(|_| {
                memory = 0.9 * memory + random.normal();
                100.0 + memory
            });
            (50.0, sum.sum::<f64>())
        };
        let runs: Vec<Vec<(f64, f64)>> = (0..200).map(|_| (0..20).map(|_| batch()).collect()).collect();
        let requests = Requests::of(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        assert!((requests.variance / 100.0 - 1.0).abs() < 0.1, "{requests:?}");
        assert_eq!(Requests::of(&[&[(1.0, 2.0), (1.0, 3.0)]]), None);
    }

    #[test]
    fn one_mean_square_has_the_interval_of_chi_square() {
        let (low, high) = interval(&[Term { factor: 0.5, mean_square: 8.0, degrees: 10.0 }]);
        // Quantiles 0.965 and 0.015 of chi-square with ten degrees of freedom.
        let expected = (40.0 / chi_square_quantile(0.965, 10.0), 40.0 / chi_square_quantile(0.015, 10.0));
        assert!((low - expected.0).abs() < 1e-9 && (high - expected.1).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_lower_end_is_zero_just_where_the_f_test_finds_nothing() {
        let critical = fisher_quantile(0.965, 4.0, 20.0);
        let low = |ratio: f64| {
            let one = Term { factor: 0.2, mean_square: ratio, degrees: 4.0 };
            interval(&[one, Term { factor: -0.2, mean_square: 1.0, degrees: 20.0 }]).0
        };
        assert_eq!(low(0.999 * critical), 0.0);
        assert!(low(1.001 * critical) > 0.0);
    }

    #[test]
    fn mean_squares_without_any_spread_leave_an_interval_without_width() {
        let none = Term { factor: 1.0, mean_square: 0.0, degrees: 3.0 };
        assert_eq!(interval(&[none, Term { factor: -1.0, ..none }]), (0.0, 0.0));
    }
}
