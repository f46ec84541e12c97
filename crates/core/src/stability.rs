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
//! Of M/M/1 queues at 100 arrivals per second, in runs of 30 s after a warm-up of 5 s, 1.4 % are called unstable at 0.9,
//! 14 % at 0.95, 95 % at 1.05 and all at 1.1 (1,000 seeds; a test in `dev` holds them on 200).

use crate::caveat::threshold::{ARRIVALS_MIN, GIVEN_UP_MAX, GROWTH_FEW, GROWTH_MIN, SECONDS_MIN};
use crate::statistics::Sample;
use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    pub arrivals: u64,
    pub completed: u64,
    pub in_flight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stability {
    Settled,
    Unstable(Instability),
    TooShort { seconds: usize, arrivals: u64 },
}

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
        let backlog_late = backlog(seconds, count / 2..count);
        Self {
            backlog_low,
            backlog_late,
            backlog_end: backlog(seconds, count - fifth..count),
            growth: (backlog_late - backlog_low) / chance(seconds, arrivals),
            tolerated: GROWTH_MIN.max(GROWTH_FEW / (arrivals as f64).sqrt()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_start_that_is_worked_off_is_settled() {
        let seconds: Vec<Second> = (0..30_u64)
            .map(|second| {
                let in_flight = 500_u64.saturating_sub(50 * second).max(3 + second % 2);
                Second { arrivals: 100, completed: 100, in_flight }
            })
            .collect();
        assert_eq!(Stability::of(&seconds, 0), Stability::Settled);
    }

    #[test]
    fn a_backlog_capped_by_giving_up_is_unstable() {
        let flat = [Second { arrivals: 100, completed: 60, in_flight: 400 }; 30];
        assert_eq!(Stability::of(&flat, 30), Stability::Settled);
        assert!(Stability::of(&flat, 1_200).is_unstable());
    }
}
