//! Whether a queue settles in the course of a run, or grows for as long as the run goes on.
//!
//! The backlog (arrived and not ended) of a stable server goes up and down, sometimes for long; that of a
//! server that gets more than it can do grows without end, in the mean by `arrival rate - capacity` each
//! second. Both look alike for a while, so the growth is set beside what chance brings.
//!
//! With `L_k` the backlog at the end of second `k` of `T`, and `n` the arrivals of the run:
//! - growth `g = mean of L over the second half - lowest mean of L over a tenth of the run`. The lowest tenth
//!   stands for the backlog that belongs to the rate, as every request takes its time;
//! - chance `c = s sqrt(T)`, how far a backlog without any tendency wanders in `T` seconds, where `s^2` is the
//!   variance of `L_k - L_(k-1)`, at least the arrivals per second (a Poisson process alone brings that);
//! - the queue is unstable where `g / c` is above [`GROWTH_MIN`] and above [`GROWTH_FEW`]` / sqrt(n)`, the growth
//!   is above a quarter of the lowest tenth, and the last fifth still holds half of the growth (a server that
//!   stood still and has caught up since is not unstable).
//!
//! The second bound keeps the long excursions of a busy but stable queue apart: the backlog of an M/M/1 queue at
//! utilisation `r` has the mean `r / (1 - r)` however long the run, which is `r / ((1 - r) sqrt(2 n))` in units of
//! `c`, that is `6.4 / sqrt(n)` at 0.9. The bound is 2.6 times that, found by simulation.
//!
//! Share of runs labelled unstable, M/M/1 at 100 arrivals per second after a warm-up of a sixth of the run,
//! 1,000 seeds (a test holds them on 200):
//!
//! | utilisation | 10 s | 30 s | 180 s |
//! | --- | --- | --- | --- |
//! | 0.5, 0.8 | 0 % | 0 % | 0 % |
//! | 0.9 | 3.6 % | 1.4 % | 0 % |
//! | 0.95 | 19 % | 14 % | 0.1 % |
//! | 1 | 49 % | 59 % | 60 % |
//! | 1.05 | 79 % | 95 % | 100 % |
//! | 1.1 | 94 % | 100 % | 100 % |
//! | 1.2 | 99.9 % | 100 % | 100 % |
//!
//! At a utilisation just below 1, no run of this length can tell; at exactly 1 there is no right answer.

use crate::statistics::Sample;
use crate::time::Nanos;
use std::ops::Range;

/// Growth, in units of what chance brings, up to which a queue counts as settled in any run.
pub const GROWTH_MIN: f64 = 0.3;

/// The same times the root of the number of arrivals, for short runs.
pub const GROWTH_FEW: f64 = 16.5;

/// Share of arrivals given up (timed out or never sent) above which a queue counts as unstable: giving up caps
/// the backlog, so that its growth no longer shows.
pub const GIVEN_UP_MAX: f64 = 0.01;

/// Seconds below which nothing but an instability that shows can be said.
pub const SECONDS_MIN: usize = 8;

/// Arrivals below which nothing but an instability that shows can be said.
pub const ARRIVALS_MIN: u64 = 100;

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Arrivals scheduled in it.
    pub arrivals: u64,
    /// Completions in it.
    pub completed: u64,
    /// Arrived and not ended at its end.
    pub in_flight: u64,
    /// Sum of the response times of its arrivals.
    pub response_sum: Nanos,
}

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stability {
    /// No growth beyond chance.
    Settled,
    /// The backlog grows.
    Unstable(Instability),
    /// Too few seconds or arrivals to tell.
    TooShort {
        /// Seconds there are.
        seconds: usize,
        /// Arrivals there are.
        arrivals: u64,
    },
}

/// Why a queue is called unstable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instability {
    /// Lowest mean backlog over a tenth of the run, in requests.
    pub backlog_low: f64,
    /// Mean backlog over the second half of the run, in requests.
    pub backlog_late: f64,
    /// Mean backlog over the last fifth of the run, in requests.
    pub backlog_end: f64,
    /// Growth in units of what chance brings.
    pub growth: f64,
    /// Up to where that would have been tolerated.
    pub tolerated: f64,
    /// Arrivals that had no completion by the end, less those before the run that had, as a share of arrivals.
    pub shortfall: f64,
    /// Mean response time of the arrivals of the first fifth.
    pub response_first: Nanos,
    /// Mean response time of the arrivals of the last fifth.
    pub response_last: Nanos,
    /// Share of arrivals given up.
    pub given_up: f64,
}

impl Stability {
    /// Judges a run by its seconds, in order. `given_up` counts the arrivals of the run that timed out or
    /// were never sent.
    pub fn of(seconds: &[Second], given_up: u64) -> Self {
        let arrivals: u64 = seconds.iter().map(|second| second.arrivals).sum();
        let too_short = Self::TooShort { seconds: seconds.len(), arrivals };
        if seconds.len() < 3 || arrivals == 0 {
            return too_short;
        }
        let found = Instability::measure(seconds, arrivals, given_up);
        if found.holds() {
            Self::Unstable(found)
        } else if seconds.len() < SECONDS_MIN || arrivals < ARRIVALS_MIN {
            too_short
        } else {
            Self::Settled
        }
    }

    /// Whether it is settled. A run too short to tell is not.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Settled)
    }

    /// Whether it is unstable. A run too short to tell is not.
    pub fn is_unstable(&self) -> bool {
        matches!(self, Self::Unstable(_))
    }
}

impl Instability {
    fn measure(seconds: &[Second], arrivals: u64, given_up: u64) -> Self {
        let count = seconds.len();
        let fifth = count.div_ceil(5);
        let tenths = count.min(10);
        let backlog_low = (0..tenths)
            .map(|tenth| backlog(seconds, tenth * count / tenths..(tenth + 1) * count / tenths))
            .fold(f64::INFINITY, f64::min);
        let completed: u64 = seconds.iter().map(|second| second.completed).sum();
        let backlog_late = backlog(seconds, count / 2..count);
        Self {
            backlog_low,
            backlog_late,
            backlog_end: backlog(seconds, count - fifth..count),
            growth: (backlog_late - backlog_low) / chance(seconds, arrivals),
            tolerated: GROWTH_MIN.max(GROWTH_FEW / (arrivals as f64).sqrt()),
            shortfall: 1.0 - completed as f64 / arrivals as f64,
            response_first: response(&seconds[..fifth]),
            response_last: response(&seconds[count - fifth..]),
            given_up: given_up as f64 / arrivals as f64,
        }
    }

    fn holds(&self) -> bool {
        let growth = self.backlog_late - self.backlog_low;
        let grows = self.growth > self.tolerated && growth > self.backlog_low / 4.0;
        let stays = self.backlog_end - self.backlog_low >= growth / 2.0;
        (grows && stays) || self.given_up > GIVEN_UP_MAX
    }
}

/// Mean backlog over a range of seconds.
fn backlog(seconds: &[Second], range: Range<usize>) -> f64 {
    let length = range.len() as f64;
    seconds[range].iter().map(|second| second.in_flight as f64).sum::<f64>() / length
}

/// How far a backlog without any tendency wanders in the run, in requests.
fn chance(seconds: &[Second], arrivals: u64) -> f64 {
    let steps: Sample =
        seconds.windows(2).map(|pair| pair[1].in_flight as f64 - pair[0].in_flight as f64).collect();
    let rate = arrivals as f64 / seconds.len() as f64;
    (steps.variance().unwrap_or(0.0).max(rate) * seconds.len() as f64).sqrt()
}

/// Mean response time of the arrivals of some seconds; zero where there are none.
fn response(seconds: &[Second]) -> Nanos {
    let sum: u128 = seconds.iter().map(|second| u128::from(second.response_sum.0)).sum();
    let arrivals: u128 = seconds.iter().map(|second| u128::from(second.arrivals)).sum();
    Nanos(u64::try_from(sum / arrivals.max(1)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Arrivals, Poisson};
    use crate::random::{Random, Seed};
    use crate::simulation::{FifoQueue, Served, Service};

    /// The seconds of a run after its warm-up.
    fn seconds(served: impl Iterator<Item = Served>, warm_up: usize, measure: usize) -> Vec<Second> {
        let end = Nanos::from_secs((warm_up + measure) as u64);
        let mut seconds = vec![Second::default(); warm_up + measure];
        for one in served.take_while(|one| one.arrival < end) {
            let place = |instant: Nanos| usize::try_from(instant.0 / 1_000_000_000).unwrap();
            seconds[place(one.arrival)].arrivals += 1;
            seconds[place(one.arrival)].response_sum += one.response();
            if one.done < end {
                seconds[place(one.done)].completed += 1;
            }
        }
        let mut in_flight = 0;
        for second in &mut seconds {
            in_flight = in_flight + second.arrivals - second.completed;
            second.in_flight = in_flight;
        }
        seconds.split_off(warm_up)
    }

    fn mm1(utilisation: f64, rate: f64, measure: usize, seed: u64) -> Stability {
        let arrivals = Poisson::new(rate, Seed(seed).child("arrivals")).unwrap();
        let service = Service::Exponential(Nanos::from_secs_f64(utilisation / rate));
        let queue = FifoQueue::new(arrivals, service, Seed(seed).child("service"));
        Stability::of(&seconds(queue, measure / 6, measure), 0)
    }

    /// How many of so many M/M/1 runs at 100 arrivals per second are labelled unstable.
    fn unstable(utilisation: f64, measure: usize, seeds: u64) -> u64 {
        (0..seeds).filter(|&seed| mm1(utilisation, 100.0, measure, seed).is_unstable()).count() as u64
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
            |utilisation| (0..100).filter(|&seed| mm1(utilisation, 2_000.0, 10, seed).is_unstable()).count();
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
                let done =
                    if (from..to).contains(&one.arrival) { to + Nanos::from_millis(5) } else { one.done };
                Served { done, ..one }
            });
            assert_eq!(Stability::of(&seconds(stalled, 0, 30), 0), Stability::Settled, "{stop}");
        }
    }

    #[test]
    fn the_evidence_of_a_server_at_twice_its_capacity() {
        let Stability::Unstable(found) = mm1(2.0, 100.0, 30, 1) else { panic!("not found") };
        assert!((found.shortfall - 0.5).abs() < 0.05, "{found:?}");
        assert!(found.backlog_end > 1_000.0 && found.response_last > found.response_first, "{found:?}");
    }

    #[test]
    fn a_backlog_capped_by_giving_up_is_unstable() {
        let flat =
            [Second { arrivals: 100, completed: 60, in_flight: 400, response_sum: Nanos::from_secs(300) };
                30];
        assert_eq!(Stability::of(&flat, 30), Stability::Settled);
        assert!(Stability::of(&flat, 1_200).is_unstable());
    }

    #[test]
    fn a_run_too_short_says_so_unless_it_is_plain() {
        assert_eq!(Stability::of(&[], 0), Stability::TooShort { seconds: 0, arrivals: 0 });
        assert!(matches!(mm1(0.5, 100.0, 5, 1), Stability::TooShort { seconds: 5, .. }));
        assert!(matches!(mm1(0.5, 5.0, 10, 1), Stability::TooShort { seconds: 10, .. }));
        assert!(mm1(3.0, 100.0, 5, 1).is_unstable());
    }
}
