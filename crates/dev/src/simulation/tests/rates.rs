//! The search for the saturation by short probes of a queue.

use crate::simulation::{FifoQueue, Service};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::Poisson;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::{PROBES_MAX, ProbeOutcome, RateSearch, SearchStep};
use evenkeel_core::stability::{Second, Stability};

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
fn mm1(capacity: f64, rate: f64, seed: Seed) -> ProbeOutcome {
    let length = Nanos::from_secs(10);
    let service = Service::Exponential(Nanos::from_secs_f64(1.0 / capacity));
    let arrivals = Poisson::new(rate, seed.child("arrivals")).unwrap();
    let mut seconds = [Second::default(); 10];
    let place = |instant: Nanos| usize::try_from(instant.0 / 1_000_000_000).unwrap();
    for served in FifoQueue::new(arrivals, service, seed).take_while(|served| served.arrival < length) {
        seconds[place(served.arrival)].arrivals += 1;
        if served.done < length {
            seconds[place(served.done)].completed += 1;
        }
    }
    let (mut in_flight, mut completed) = (0, 0);
    for second in &mut seconds {
        in_flight = in_flight + second.arrivals - second.completed;
        completed += second.completed;
        second.in_flight = in_flight;
    }
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
                let mut probe = 0;
                let found = run(RateSearch::from_rate(capacity / 30.0), |rate| {
                    probe += 1;
                    mm1(capacity, rate, Seed(number).numbered(probe))
                });
                let SearchStep::Found(found) = found else { panic!("{found:?}") };
                (found.rate / capacity - 1.0).abs() < tolerance && found.probes <= probes
            })
            .count();
        assert!(good >= least, "{capacity}: {good} of 200");
    }
}
