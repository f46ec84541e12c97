//! What a run shows while it runs.

use evenkeel_core::Nanos;
use evenkeel_os::clock::thread_cpu;
use evenkeel_os::usage::context_switches;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPhase {
    Opening,
    /// Load that is not counted.
    WarmUp,
    /// Load that is.
    Measure,
    /// Waiting for what is under way.
    Drain,
}

/// A look at a run; counts are from its start, the warm-up included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadProgress {
    /// Since the start of the warm-up.
    pub elapsed: Nanos,
    pub phase: LoadPhase,
    pub arrivals: u64,
    pub completed: u64,
    /// Failures, timeouts and unsent requests so far.
    pub lost: u64,
    pub in_flight: u64,
    /// Mean response time of what completed since the last look; `None` where nothing did.
    pub response_mean: Option<Nanos>,
}

/// The numbers of one thread, on a cache line of their own; only that thread writes.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Gauges {
    arrivals: AtomicU64,
    completed: AtomicU64,
    lost: AtomicU64,
    in_flight: AtomicU64,
    response_sum: AtomicU64,
}

fn add(gauge: &AtomicU64, value: u64) {
    gauge.store(gauge.load(Relaxed).wrapping_add(value), Relaxed);
}

impl Gauges {
    pub fn arrived(&self) {
        add(&self.arrivals, 1);
    }

    pub fn completed(&self, response: Nanos) {
        add(&self.completed, 1);
        add(&self.response_sum, response.0);
    }

    pub fn lost(&self) {
        add(&self.lost, 1);
    }

    pub fn in_flight(&self, count: u64) {
        self.in_flight.store(count, Relaxed);
    }
}

/// Adds the gauges of all threads up, again and again.
#[derive(Debug, Default)]
pub(super) struct Look {
    completed: u64,
    response_sum: u64,
}

impl Look {
    pub fn look(&mut self, gauges: &[Gauges], elapsed: Nanos, phase: LoadPhase) -> LoadProgress {
        let sum = |gauge: fn(&Gauges) -> &AtomicU64| gauges.iter().map(|all| gauge(all).load(Relaxed)).sum();
        let completed: u64 = sum(|gauges| &gauges.completed);
        let response_sum: u64 = sum(|gauges| &gauges.response_sum);
        let response = response_sum.wrapping_sub(self.response_sum);
        let response_mean = response.checked_div(completed - self.completed).map(Nanos);
        (self.completed, self.response_sum) = (completed, response_sum);
        LoadProgress {
            elapsed,
            phase,
            arrivals: sum(|gauges| &gauges.arrivals),
            completed,
            lost: sum(|gauges| &gauges.lost),
            in_flight: sum(|gauges| &gauges.in_flight),
            response_mean,
        }
    }
}

/// CPU time and context switches between the first loop after the start of the measured phase and the first
/// after its end.
#[derive(Debug, Default)]
pub(super) struct Usage {
    first: Option<(Nanos, u64)>,
    last: Option<(Nanos, u64)>,
}

impl Usage {
    pub fn sample(&mut self, now: Nanos, start: Nanos, end: Nanos) {
        if self.first.is_none() && now >= start {
            self.first = Some((thread_cpu(), context_switches()));
        }
        if self.last.is_none() && now >= end {
            self.last = Some((thread_cpu(), context_switches()));
        }
    }

    /// CPU time and context switches; up to now where the end was not seen.
    pub fn difference(&self) -> (Nanos, u64) {
        let Some(first) = self.first else { return (Nanos::ZERO, 0) };
        let last = self.last.unwrap_or_else(|| (thread_cpu(), context_switches()));
        (last.0 - first.0, last.1.saturating_sub(first.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_what_completed_since_the_last_look() {
        let gauges = [Gauges::default(), Gauges::default()];
        let mut look = Look::default();
        gauges[0].completed(Nanos(10));
        gauges[1].completed(Nanos(30));
        let first = look.look(&gauges, Nanos(1), LoadPhase::Measure);
        assert_eq!((first.completed, first.response_mean), (2, Some(Nanos(20))));
        gauges[1].completed(Nanos(7));
        assert_eq!(look.look(&gauges, Nanos(2), LoadPhase::Measure).response_mean, Some(Nanos(7)));
        assert_eq!(look.look(&gauges, Nanos(3), LoadPhase::Measure).response_mean, None);
    }
}
