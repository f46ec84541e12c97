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
mod interval;
mod spending;

pub use components::{Component, Components, Dominant, Requests};
pub use design::{Level, Observation, Position, VarianceError};
pub use spending::{Costs, Repeat};

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
}
