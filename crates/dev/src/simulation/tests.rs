//! What core says of queues whose truth is known.

use super::cell::Seconds;
use super::{Served, Shared, TryPlan, VirtualCell, mm1};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson};
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::rates::{PROBES_MAX, ProbeOutcome, RateSearch, SearchStep};
use evenkeel_core::stability::{Second, Stability};
use evenkeel_core::statistics::pooled::{Overall, Pooled, Run, relaxation_by, share_variance};

/// The seconds of a run after its warm-up.
fn seconds(served: impl Iterator<Item = Served>, warm_up: u64, measure: u64) -> Vec<Second> {
    let end = Nanos::from_secs(warm_up + measure);
    let mut seconds = Seconds::new(Nanos::from_secs(warm_up), Nanos::from_secs(measure));
    served.take_while(|one| one.arrival < end).for_each(|one| seconds.count(one));
    seconds.finish()
}

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

fn plan(share: f64) -> TryPlan {
    TryPlan { shared: Shared::beside(share), runs: 30, wanted: Wanted { width: 0.05 } }
}

#[test]
fn a_study_beside_a_neighbour_ends_with_bounds_that_hold() {
    for share in [0.0, 0.15, 0.3] {
        let (beside, alone) = plan(share).shared.capacities();
        let (mut least, mut most, mut own) = (0, 0, 0);
        for seed in 0..60 {
            let found = plan(share).play(Seed(seed)).unwrap();
            let range = found.answer.alone.expect("every try ends with bounds").range;
            least += u32::from(found.answer.carried.at_least.is_some_and(|least| least <= beside));
            most += u32::from(found.answer.carried.at_most.is_some_and(|most| most >= beside));
            own += u32::from(range.low <= alone && alone <= range.high);
        }
        // 95 % of 60 are 57; these are the lowest that chance brings once in a thousand times.
        assert!(least >= 51 && most >= 51 && own >= 51, "{share}: {least}, {most}, {own} of 60");
    }
}

#[test]
fn a_study_ends_early_when_the_bounds_are_as_tight_as_wanted() {
    let wanted = Wanted { width: 0.5 };
    let found = TryPlan { wanted, runs: 200, ..plan(0.0) }.play(Seed(1)).unwrap();
    assert!(found.runs < 30, "{found:?}");
}

/// Mean service rate of a server whose speed is another one in each run, by up to this part, per second.
const SPEED: f64 = 1_000.0;

/// The mean response at an arrival rate from three runs of 7 s, relative to the truth.
fn of_three_runs(rate: f64, sway: f64, seed: Seed) -> Overall {
    let mut random = Random::new(seed.child("speed"));
    let mut run = |number| {
        let speed = SPEED * (1.0 + sway * (2.0 * random.unit() - 1.0));
        let service = Nanos::from_secs_f64(1.0 / speed);
        let cell = VirtualCell { load: rate / speed, service, base: Nanos::from_secs(8) };
        cell.run(1.0, 7.0, seed.numbered(number)).unwrap()
    };
    let runs: Vec<Run> = (0..3).map(&mut run).collect();
    let pooled = Pooled::of(&runs, Some(relaxation_by(SPEED, rate))).unwrap();
    // The mean of 1 / (m - l) over service rates m from a to b is ln((b - l) / (a - l)) / (b - a).
    let free = |part: f64| SPEED * (1.0 + part) - rate;
    let tau_s =
        if sway > 0.0 { (free(sway) / free(-sway)).ln() / (2.0 * sway * SPEED) } else { 1.0 / free(0.0) };
    pooled.tau().unwrap().scaled(1e-9 / tau_s)
}

const LOADS: [f64; 4] = [0.16, 0.32, 0.48, 0.64];

/// Means of each load before and after they share their variance, where each has a sway of its own.
fn shared(sways: [f64; 4], seed: Seed) -> [[Overall; 4]; 2] {
    let of_rate = |k: usize| of_three_runs(LOADS[k] * SPEED, sways[k], seed.numbered(k as u64));
    let alone = [0, 1, 2, 3].map(of_rate);
    let mut shared = alone;
    share_variance(&mut shared.iter_mut().collect::<Vec<_>>());
    [alone, shared]
}

#[test]
fn rates_that_share_their_variance_have_narrower_intervals_that_hold_at_each_rate() {
    const TRIES: usize = 300;
    for sways in [[0.0; 4], [0.17; 4], [0.02, 0.4, 0.02, 0.02]] {
        let (mut held, mut open, mut widths) = ([[0; 4]; 2], [0; 2], [vec![], vec![]]);
        for seed in (0..TRIES as u64).map(Seed) {
            for (way, figures) in shared(sways, seed).into_iter().enumerate() {
                for (k, figure) in figures.into_iter().enumerate() {
                    let (low, high) = (figure.bounds.low().unwrap(), figure.bounds.high());
                    held[way][k] += usize::from(low <= 1.0 && high.is_none_or(|high| high >= 1.0));
                    open[way] += usize::from(high.is_none());
                    widths[way].push(high.unwrap_or(f64::INFINITY) / low);
                }
            }
        }
        let wide = widths.map(|mut of| *of.select_nth_unstable_by(3 * TRIES, f64::total_cmp).1);
        // 95 % of 300 are 285. The highest load beside a swaying speed holds fewest, alone too: 259 (alone 268).
        let [own, with_others] = held;
        let holds = (0..4).all(|k| with_others[k] >= 255 && with_others[k] + 15 >= own[k]);
        assert!(
            holds && open[1] <= open[0] && wide[1] < wide[0],
            "{sways:?}: held {own:?} {with_others:?}, open {open:?}, {wide:?}"
        );
    }
}
