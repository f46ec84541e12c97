//! The arrivals of one thread.
//!
//! All threads walk the same seeded process and each takes every n-th arrival, so that together they send
//! exactly the process, whatever their number, and none talks to another.

use super::error::Result;
use super::plan::{ArrivalPlan, LoadPlan};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Constant, Poisson};

/// One arrival: its instant on the monotonic clock and its number in the process (or its closed client).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub at: Nanos,
    pub number: u64,
}

/// The arrivals of one thread, in order.
pub(super) struct Schedule {
    process: Option<Box<dyn Arrivals>>,
    /// Number of the next arrival of the whole process.
    number: u64,
    thread: u64,
    threads: u64,
    start: Nanos,
    length: Nanos,
    next: Option<Arrival>,
}

/// The process of a plan; `None` for a closed load.
pub(super) fn process(plan: &LoadPlan) -> Result<Option<Box<dyn Arrivals>>> {
    let seed = plan.seed.child("arrivals");
    Ok(Some(match plan.arrivals {
        ArrivalPlan::Poisson(rate) => Box::new(Poisson::new(rate, seed)?),
        ArrivalPlan::Constant(rate) => Box::new(Constant::new(rate)?),
        ArrivalPlan::Closed { .. } => return Ok(None),
    }))
}

impl Schedule {
    /// The arrivals of thread `thread` of `threads`, of a process that starts at `start`.
    pub fn new(
        process: Option<Box<dyn Arrivals>>,
        (thread, threads): (usize, usize),
        start: Nanos,
        length: Nanos,
    ) -> Self {
        let (thread, threads) = (thread as u64, threads as u64);
        let mut schedule = Self { process, number: 0, thread, threads, start, length, next: None };
        schedule.advance();
        schedule
    }

    pub fn peek(&self) -> Option<Arrival> {
        self.next
    }

    pub fn take_due(&mut self, now: Nanos) -> Option<Arrival> {
        let arrival = self.next.filter(|arrival| arrival.at <= now)?;
        self.advance();
        Some(arrival)
    }

    pub fn end(&mut self) {
        self.process = None;
        self.next = None;
    }

    fn advance(&mut self) {
        self.next = None;
        while let Some(offset) = self.process.as_mut().and_then(|process| process.next_arrival()) {
            if offset >= self.length {
                break;
            }
            let number = self.number;
            self.number += 1;
            if number % self.threads == self.thread {
                self.next = Some(Arrival { at: self.start + offset, number });
                return;
            }
        }
        self.process = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    #[test]
    fn the_threads_together_send_exactly_the_process() {
        let length = Nanos::from_secs(2);
        let process = || Poisson::new(500.0, Seed(3)).unwrap();
        let mut expected = process();
        let expected: Vec<Nanos> =
            std::iter::from_fn(|| expected.next_arrival()).take_while(|&at| at < length).collect();
        let mut found = Vec::new();
        for thread in 0..3 {
            let mut schedule = Schedule::new(Some(Box::new(process())), (thread, 3), Nanos(1_000), length);
            while let Some(arrival) = schedule.take_due(Nanos::MAX) {
                found.push((arrival.number, arrival.at - Nanos(1_000)));
            }
        }
        found.sort_unstable();
        let numbered: Vec<_> = (0_u64..).zip(expected).collect();
        assert_eq!(found, numbered);
    }

    #[test]
    fn an_arrival_is_taken_when_it_is_due_and_not_before() {
        let process = Constant::new(1_000.0).unwrap();
        let mut schedule = Schedule::new(Some(Box::new(process)), (0, 1), Nanos(5), Nanos::from_millis(2));
        assert_eq!(schedule.take_due(Nanos(4)), None);
        assert_eq!(schedule.take_due(Nanos(5)), Some(Arrival { at: Nanos(5), number: 0 }));
        assert_eq!(schedule.peek(), Some(Arrival { at: Nanos(1_000_005), number: 1 }));
        schedule.end();
        assert_eq!(schedule.take_due(Nanos::MAX), None);
    }
}
