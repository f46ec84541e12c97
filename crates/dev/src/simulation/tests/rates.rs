//! The search for the saturation by short probes of a queue.

use super::seconds;
use crate::simulation::mm1;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::{PROBES_MAX, ProbeOutcome, RateSearch, SearchStep};
use evenkeel_core::stability::Stability;

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

/// A probe of ten seconds against an M/M/1 server of this capacity.
fn probe(capacity: f64, rate: f64, seed: Seed) -> ProbeOutcome {
    let service = Nanos::from_secs_f64(1.0 / capacity);
    let seconds = seconds(mm1(rate, service, seed.child("arrivals"), seed).unwrap(), 0, 10);
    let completed: u64 = seconds.iter().map(|second| second.completed).sum();
    ProbeOutcome {
        rate,
        offered: seconds.iter().map(|second| second.arrivals).sum::<u64>() as f64 / 10.0,
        throughput: completed as f64 / 10.0,
        utilisation: Some((100.0 * rate / capacity).min(100.0)),
        settled: !Stability::of(&seconds, 0).is_unstable(),
        response: 0.001,
        lost: 0.0,
    }
}

#[test]
fn short_noisy_probes_find_the_capacity_of_a_queue() {
    // Requests in a probe decide: chance alone moves the throughput by 3 % at 100 per second.
    for (capacity, tolerance, probes, least) in [(1_000.0, 0.05, 8, 195), (100.0, 0.1, 10, 180)] {
        let good = (0..200)
            .filter(|&number| {
                let mut probed = 0;
                let found = run(RateSearch::from_rate(capacity / 30.0), |rate| {
                    probed += 1;
                    probe(capacity, rate, Seed(number).numbered(probed))
                });
                let SearchStep::Found(found) = found else { panic!("{found:?}") };
                (found.rate / capacity - 1.0).abs() < tolerance && found.probes <= probes
            })
            .count();
        assert!(good >= least, "{capacity}: {good} of 200");
    }
}
