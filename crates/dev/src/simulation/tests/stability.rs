//! Whether a queue settles, of queues whose utilisation is known.

use super::seconds;
use crate::simulation::{Served, mm1};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::stability::Stability;

fn judged(utilisation: f64, rate: f64, measure: u64, seed: u64) -> Stability {
    let service = Nanos::from_secs_f64(utilisation / rate);
    let queue = mm1(rate, service, Seed(seed).child("arrivals"), Seed(seed).child("service")).unwrap();
    Stability::of(&seconds(queue, measure / 6, measure), 0)
}

/// How many of so many M/M/1 runs at 100 arrivals per second are labelled unstable.
fn unstable(utilisation: f64, measure: u64, seeds: u64) -> u64 {
    (0..seeds).filter(|&seed| judged(utilisation, 100.0, measure, seed).is_unstable()).count() as u64
}

#[test]
fn an_unstable_queue_is_told_from_a_busy_one() {
    // Utilisation, then least and most of 200 runs labelled unstable after 10 s, 30 s and 180 s.
    let cases = [
        (0.5, [(0, 0), (0, 0), (0, 0)]),
        (0.8, [(0, 2), (0, 0), (0, 0)]),
        (0.9, [(0, 12), (0, 6), (0, 0)]),
        (0.95, [(0, 50), (0, 40), (0, 2)]),
        (1.05, [(145, 200), (186, 200), (200, 200)]),
        (1.1, [(180, 200), (199, 200), (200, 200)]),
        (1.2, [(196, 200), (200, 200), (200, 200)]),
    ];
    for (utilisation, ranges) in cases {
        for (measure, (least, most)) in [10, 30, 180].into_iter().zip(ranges) {
            let count = unstable(utilisation, measure, 200);
            assert!((least..=most).contains(&count), "{utilisation} in {measure} s: {count} of 200");
        }
    }
}

#[test]
fn a_higher_rate_tells_sooner() {
    let count =
        |utilisation| (0..100).filter(|&seed| judged(utilisation, 2_000.0, 10, seed).is_unstable()).count();
    assert_eq!((count(0.9), count(1.05)), (0, 100));
}

/// A server on which nobody waits for another.
fn parallel(mean: Nanos, seed: u64) -> impl Iterator<Item = Served> {
    let mut arrivals = Poisson::new(100.0, Seed(seed).child("arrivals")).unwrap();
    let mut random = Random::new(Seed(seed).child("service"));
    std::iter::from_fn(move || arrivals.next_arrival())
        .map(move |arrival| Served { arrival, done: arrival + random.exponential_nanos(mean) })
}

#[test]
fn many_requests_under_way_are_no_backlog_that_grows() {
    for (millis, most) in [(100, 0), (500, 2), (2_000, 2)] {
        let count = (0..200)
            .filter(|&seed| {
                let served = parallel(Nanos::from_millis(millis), seed);
                Stability::of(&seconds(served, 10, 30), 0).is_unstable()
            })
            .count();
        assert!(count <= most, "{millis} ms: {count} of 200");
    }
}

#[test]
fn a_server_that_stood_still_and_caught_up_is_settled() {
    for (stop, length) in [(3, 1), (10, 5), (27, 1)] {
        let stalled = parallel(Nanos::from_millis(5), 1).map(|one| {
            let (from, to) = (Nanos::from_secs(stop), Nanos::from_secs(stop + length));
            let done = if (from..to).contains(&one.arrival) { to + Nanos::from_millis(5) } else { one.done };
            Served { done, ..one }
        });
        assert_eq!(Stability::of(&seconds(stalled, 0, 30), 0), Stability::Settled, "{stop}");
    }
}

#[test]
fn the_evidence_of_a_server_at_twice_its_capacity() {
    let Stability::Unstable(found) = judged(2.0, 100.0, 30, 1) else { panic!("not found") };
    assert!(found.backlog_end > 1_000.0 && found.backlog_low < 500.0, "{found:?}");
}

#[test]
fn a_run_too_short_says_so_unless_it_is_plain() {
    assert!(matches!(judged(0.5, 100.0, 5, 1), Stability::TooShort { seconds: 5, .. }));
    assert!(matches!(judged(0.5, 5.0, 10, 1), Stability::TooShort { seconds: 10, .. }));
    assert!(judged(3.0, 100.0, 5, 1).is_unstable());
}
