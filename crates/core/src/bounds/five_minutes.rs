//! What a profile has time for on a server whose speed varies from run to run.

use super::tests::{behind, kept, sequence};
use super::{Answer, Responses, RunAt, Sequence, Step};
use crate::random::{Random, Seed};

/// What 24 runs, about as many as a profile of five minutes has, bring on a server that carries 200/s, by this share more or less from run
/// to run: upper over lower bound, and rates of the curve that have three runs.
fn after_five_minutes(sway: f64, search_error: f64, seed: u64) -> (f64, usize) {
    let mut random = Random::new(Seed(seed));
    let mut sequence = sequence(0.0);
    let begun = sequence.first(200.0 * search_error, false);
    let mut runs: Vec<RunAt> = Vec::new();
    for left in (1..=24).rev() {
        sequence.runs_left = left;
        let of_first: Vec<RunAt> = runs.iter().filter(|run| begun.contains(&run.rate)).cloned().collect();
        let first = [begun[0], Sequence::nearer(&of_first).unwrap_or(begun[1])];
        let made = |rate: f64| runs.iter().filter(|run| run.rate == rate).count();
        let rate = Sequence::opening(&first, made).unwrap_or_else(|| next_of(sequence, &runs));
        let carries = 200.0 * (1.0 + sway * (2.0 * random.unit() - 1.0));
        runs.push(if rate < carries { kept(rate, 8.0) } else { behind(rate, carries) });
    }
    let carried = Answer::of(&runs).carried;
    let least = carried.at_least.unwrap();
    let curve = carried.rates.iter().filter(|rate| rate.rate <= 0.9 * least && rate.runs >= 3).count();
    (carried.at_most.unwrap_or(f64::INFINITY) / least, curve)
}

fn next_of(sequence: Sequence, runs: &[RunAt]) -> f64 {
    let Some(Step::Run(rate)) = sequence.next(runs, &Responses::default()) else { panic!("it goes on") };
    rate
}

#[test]
fn five_minutes_are_enough_for_narrow_bounds_and_a_curve_where_the_server_sways_little() {
    for search_error in [0.75, 0.9, 1.0, 1.2, 1.4] {
        for (sway, width_max, curves_min) in [(0.0, 1.3, 99), (0.1, 1.4, 95), (0.25, 2.0, 75)] {
            let tries: Vec<_> = (0..99).map(|seed| after_five_minutes(sway, search_error, seed)).collect();
            let mut widths: Vec<f64> = tries.iter().map(|(width, _)| *width).collect();
            widths.sort_by(f64::total_cmp);
            assert!(widths[49] < width_max, "search off by {search_error}, sway {sway}: {}", widths[49]);
            let full = tries.iter().filter(|(_, curve)| *curve >= 4).count();
            assert!(full >= curves_min, "search off by {search_error}, sway {sway}: {full} curves of 99");
        }
    }
}

#[test]
fn a_server_without_an_upper_bound_gets_one_before_its_curve_is_repeated() {
    let mut runs = vec![kept(200.0, 8.0), behind(200.0, 150.0), behind(200.0, 150.0), behind(200.0, 150.0)];
    for rate in [20.0, 40.0, 60.0, 80.0, 100.0] {
        runs.extend((0..3).map(|_| kept(rate, 8.0)));
    }
    assert_eq!(Answer::of(&runs).carried.at_most, None);
    let unsure = Responses { unsure: &[40.0], ..Responses::default() };
    assert_eq!(sequence(0.0).next(&runs, &unsure), Some(Step::Run(200.0)));
}
