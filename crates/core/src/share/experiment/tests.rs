//! The published experiments and random mixes come out as they should.

use super::*;
use crate::share::simulation::run;

fn outcomes(way: Way) -> Vec<(Experiment, Outcome)> {
    let judged = |experiment: Experiment| {
        let trace = run(&experiment.scenario(way, 2.0, Seed(3)));
        let outcome = judge(&experiment, &trace);
        (experiment, outcome)
    };
    published().into_iter().map(judged).collect()
}

#[test]
fn the_published_law_gives_the_published_throughput_and_latency() {
    for (experiment, outcome) in outcomes(Way::Parda) {
        let total: f64 = outcome.iops.iter().sum();
        if let Some(published) = experiment.parda.0 {
            assert!((total / published - 1.0).abs() < 0.05, "{}: {total}", experiment.name);
        }
        if let Some(published) = experiment.parda.1.filter(|_| experiment.name != "table-6") {
            let ratio = outcome.latency_s / published;
            assert!((ratio - 1.0).abs() < 0.1, "{}: {}", experiment.name, outcome.latency_s);
        }
    }
}

#[test]
fn ours_reaches_the_shares_within_three_periods_and_holds_them_and_the_threshold() {
    for (experiment, outcome) in outcomes(Way::Evenkeel) {
        let name = experiment.name;
        assert!(outcome.periods_to_share.is_some_and(|periods| periods <= 3), "{name}: {outcome:?}");
        assert!(outcome.share_error < 0.05, "{name}: {outcome:?}");
        assert!(outcome.overshoot < 0.05, "{name}: {outcome:?}");
    }
}

#[test]
fn ours_costs_no_throughput_against_a_fixed_total_window_at_the_same_latency() {
    let experiment = &published()[0];
    assert!(kept(experiment, 2.0, Seed(3)) > 0.98);
}

#[test]
fn random_arrays_and_mixes_stay_where_they_should() {
    for number in 0..10 {
        let outcome = stability(&mix(Seed(3), number));
        assert!(!outcome.diverged(), "mix {number}: {outcome:?}");
    }
}

/// One or two for each cause: debts forgiven or made of lowered windows, room that nobody fills, a guess taken for a floor.
#[test]
fn mixes_that_diverged_once_do_not_any_more() {
    for (seed, number) in [(1, 186), (1, 486), (2, 374), (5, 610), (7, 19), (7, 121), (3, 847), (5, 327)] {
        let outcome = stability(&mix(Seed(seed), number));
        assert!(!outcome.diverged(), "mix {number} of seed {seed}: {outcome:?}");
    }
}

#[test]
fn windows_that_swing_or_pass_the_threshold_are_called_diverged() {
    let good = Stability { latency: 1.0, filled: 0.5, device_error: 0.0, spread: 0.02 };
    assert!(!good.diverged());
    assert!(Stability { latency: 1.3, ..good }.diverged());
    assert!(Stability { latency: 0.5, ..good }.diverged());
    assert!(!Stability { latency: 0.5, filled: 1.0, ..good }.diverged());
    assert!(Stability { spread: 0.4, ..good }.diverged());
    assert!(Stability { latency: f64::NAN, ..good }.diverged());
}

#[test]
fn arrays_on_which_large_ios_and_writes_cost_much_are_divided_by_device_time() {
    for number in 0..20 {
        let outcome = stability(&costly_mix(Seed(3), number));
        assert!(!outcome.diverged() && outcome.device_error < 0.2, "mix {number}: {outcome:?}");
    }
}
