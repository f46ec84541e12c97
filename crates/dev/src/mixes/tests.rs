//! Random arrays come to rest, and are divided by shares.

use super::*;
use evenkeel_core::share::Costs;
use evenkeel_core::share::experiment::experiments;

#[test]
fn ours_costs_no_throughput_against_a_fixed_total_window_at_the_same_latency() {
    let experiment = &experiments()[0];
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
fn arrays_on_which_large_ios_and_writes_cost_much_are_divided_by_device_time() {
    let mut judged = 0;
    for number in 0..20 {
        let outcome = stability(&costly_mix(Seed(3), number));
        assert!(!outcome.diverged(), "mix {number}: {outcome:?}");
        assert!(outcome.device_error.is_none_or(|error| error < 0.2), "mix {number}: {outcome:?}");
        judged += u32::from(outcome.device_error.is_some());
    }
    assert!(judged >= 10, "{judged} mixes are judged");
}

/// A random array with hosts that come and go, for a hundred periods.
fn fair_mix(seed: u64) -> Mix {
    let mut mix = costly_mix(Seed(seed), 0);
    let period_s = mix.scenario.period_s;
    mix.scenario.duration_s = 100.0 * period_s;
    if seed.is_multiple_of(2) {
        mix.scenario.hosts[0].disks[0].active =
            vec![(0.0, 30.0 * period_s), (60.0 * period_s, 80.0 * period_s)];
    }
    mix
}

#[test]
fn an_array_that_is_divided_by_shares_is_never_said_not_to_be() {
    for (seed, told) in (0..50).flat_map(|seed| [(seed, true), (seed, false)]) {
        let Mix { mut scenario, .. } = fair_mix(seed);
        if !told {
            // What I/Os cost this array nobody knows.
            scenario.hosts.iter_mut().for_each(|host| host.costs = Some(Costs::default()));
        }
        let alarmed = run(&scenario).rows.iter().any(|row| row.unfair.is_some());
        assert!(!alarmed, "seed {seed}, costs told: {told}");
    }
}
