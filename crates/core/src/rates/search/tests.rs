//! The search against servers made by hand; against queues it is tried in `dev`.

use super::*;
use crate::random::{Random, Seed};
use proptest::prelude::*;

/// Runs a search against a server, at most as long as it may take.
fn run(mut search: RateSearch, mut server: impl FnMut(f64) -> ProbeOutcome) -> SearchStep {
    for _ in 0..=PROBES_MAX {
        match search.next() {
            SearchStep::Probe(rate) => search.observe(&server(rate)),
            done => return done,
        }
    }
    panic!("the search does not end: {search:?}");
}

/// A server of this capacity, which completes `collapse` of it in overload.
fn server(capacity: f64, collapse: f64) -> impl FnMut(f64) -> ProbeOutcome {
    move |rate| ProbeOutcome {
        rate,
        offered: rate,
        throughput: if rate <= capacity { rate } else { collapse * capacity },
        utilisation: Some((100.0 * rate / capacity).min(100.0)),
        settled: rate <= capacity,
        response: 0.001,
        lost: 0.0,
    }
}

#[test]
fn a_rough_search_ends_with_the_throughput_of_one_probe_in_overload() {
    let rough = |estimate: f64| match run(RateSearch::roughly_from(estimate), server(1_000.0, 0.9)) {
        SearchStep::Found(found) => (found.rate.round(), found.probes),
        other => panic!("{other:?}"),
    };
    assert_eq!(rough(1_000.0), (900.0, 1));
    // In overload it completes 31 per second, where 16 clients had 3,600.
    let collapsed = run(RateSearch::roughly_from(3_600.0), server(3_700.0, 0.01));
    assert!(matches!(collapsed, SearchStep::Found(found) if found.rate == 3_600.0), "{collapsed:?}");
    // From too low it goes up, and what was carried on the way is no less than is found.
    let (rate, probes) = rough(300.0);
    assert!((900.0..=1_250.0).contains(&rate) && probes <= 4, "{rate} after {probes}");
    let dead = ProbeOutcome { throughput: 0.0, settled: false, ..server(1.0, 0.0)(10.0) };
    let nothing = run(RateSearch::roughly_from(100.0), |rate| ProbeOutcome { rate, offered: rate, ..dead });
    assert!(matches!(nothing, SearchStep::Failed(SearchFailure::NothingCarried(_))), "{nothing:?}");
}

#[test]
fn a_gentle_search_begins_low_and_never_asks_for_more_than_twice_what_was_carried() {
    for (rough, capacity) in [(true, 17_751.0), (false, 17_751.0), (true, 3.0), (false, 3.0)] {
        let (mut carried, mut rates, mut of) = (0.0_f64, Vec::new(), server(capacity, 0.9));
        let found = run(RateSearch::gently(rough), |rate| {
            assert!(rate <= GENTLE_START.max(2.0 * carried) * 1.001, "{rate} after {carried}");
            rates.push(rate);
            carried = carried.max(if rate <= capacity { rate } else { 0.0 });
            // Response times begin to grow at nine tenths of what is carried.
            ProbeOutcome { response: if rate > 0.9 * capacity { 0.01 } else { 0.001 }, ..of(rate) }
        });
        let SearchStep::Found(found) = found else { panic!("{found:?} {rates:?}") };
        let ratio = found.rate / capacity;
        assert!(rates[0] == GENTLE_START && (0.85..=1.3).contains(&ratio), "{found:?} {rates:?}");
    }
}

#[test]
fn one_mishap_does_not_end_a_gentle_search() {
    let (mut of, mut probes) = (server(1_000.0, 0.9), 0);
    let found = run(RateSearch::gently(true), |rate| {
        probes += 1;
        let outcome = of(rate);
        if probes == 3 { ProbeOutcome { throughput: 0.5 * rate, settled: false, ..outcome } } else { outcome }
    });
    assert!(matches!(found, SearchStep::Found(found) if found.rate > 800.0), "{found:?}");
}

#[test]
fn a_cold_first_probe_does_not_make_a_server_small() {
    let mut warm = server(1_000.0, 0.8);
    let mut probes = 0;
    let found = run(RateSearch::from_rate(50.0), |rate| {
        probes += 1;
        let outcome = warm(rate);
        if probes == 1 { ProbeOutcome { throughput: 0.5 * rate, settled: false, ..outcome } } else { outcome }
    });
    let SearchStep::Found(found) = found else { panic!("{found:?}") };
    assert!((found.rate / 1_000.0 - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn a_server_that_carries_nothing_or_everything_is_said_so() {
    let nothing = run(RateSearch::from_rate(100.0), server(0.0, 1.0));
    assert!(matches!(nothing, SearchStep::Failed(SearchFailure::NothingCarried(_))), "{nothing:?}");
    let everything = run(RateSearch::from_rate(100.0), server(f64::INFINITY, 1.0));
    assert!(matches!(everything, SearchStep::Failed(SearchFailure::NoLimit(_))), "{everything:?}");
    assert!(matches!(run(RateSearch::from_rate(f64::NAN), server(9.0, 1.0)), SearchStep::Found(_)));
    assert!(matches!(
        run(RateSearch::from_closed_estimate(f64::NAN), server(9.0, 1.0)),
        SearchStep::Found(_)
    ));
}

proptest! {
    #[test]
    fn any_capacity_is_found_from_anywhere(
        capacity in 0.1..1e6_f64, start in 0.01..1e7_f64, collapse in 0.0..1.0_f64, closed: bool
    ) {
        let search = if closed { RateSearch::from_closed_estimate(start) } else { RateSearch::from_rate(start) };
        let found = run(search, server(capacity, collapse));
        // A start off by a factor of a million may need more probes than there are.
        if let SearchStep::Found(found) = found {
            prop_assert!(found.carried <= capacity);
            if found.probes < PROBES_MAX {
                // Where the throughput falls a little in overload, the estimate falls with it.
                let tolerance = if collapse > 0.9 { 0.1 } else { 0.051 };
                prop_assert!((found.rate / capacity - 1.0).abs() < tolerance, "{found:?}");
            }
        } else {
            prop_assert!((start / capacity).ln().abs() > 9.0 || collapse < 0.01, "{found:?}");
        }
    }

    #[test]
    fn a_search_ends_whatever_it_is_told(seed: u64, start: f64) {
        let mut random = Random::new(Seed(seed));
        run(RateSearch::from_rate(start), |rate| ProbeOutcome {
            rate,
            offered: rate,
            throughput: rate * random.unit() * 1.5,
            utilisation: random.chance(0.5).then(|| random.unit() * 100.0),
            settled: random.chance(0.5),
            response: 0.001,
        lost: 0.0,
        });
    }
}
