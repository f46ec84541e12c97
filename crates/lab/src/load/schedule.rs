//! The arrivals of one thread.
//!
//! All threads walk the same seeded process and each takes every n-th arrival, so that together they send
//! exactly the process, whatever their number, and none talks to another.

use super::parts::PartsPlan;
use crate::workload::Workload;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Constant, Poisson, RateError};
use evenkeel_core::random::Seed;
use evenkeel_site::server::Target;
use evenkeel_site::words;
use evenkeel_wire::LoginError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

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

pub type Result<T, E = LoadError> = std::result::Result<T, E>;

/// Why a run of load could not take place. What goes wrong once it runs is counted in its result instead.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("arrival rate: {0}")]
    Rate(#[from] RateError),
    #[error("plan asks for no {0}")]
    Nothing(&'static str),
    /// A load that was to begin together with this one cannot begin, or somebody asked to stop before.
    #[error("the load on another server, which had to start at the same instant, could not start")]
    CalledOff,
    #[error("cannot {what}: {source}")]
    Cannot { what: String, source: io::Error, hint: Option<&'static str> },
    #[error("cannot log in to {address}: {source}")]
    Login { address: String, source: LoginError },
    #[error("no session at {address} within {seconds} s")]
    Slow { address: String, seconds: u64 },
}

impl LoadError {
    pub(super) fn cannot(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        Self::cannot_but(what, None)
    }

    pub(super) fn cannot_but(
        what: impl Into<String>,
        hint: Option<&'static str>,
    ) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Cannot { what, source, hint }
    }

    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Cannot { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            _ if self.is_disk_full() => {
                Some("free some space, or leave --request-log out: it takes about 20 bytes a request")
            }
            Self::Cannot { hint, .. } => *hint,
            _ => None,
        }
    }
}

/// An open load with so many arrivals per second, or clients that each wait for the answer and then think: this long in the mean,
/// exponential or as the workload has it; `None` for the workload's own time, where it has one.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalPlan {
    Poisson(f64),
    Constant(f64),
    Closed { clients: u32, think: Option<Nanos> },
}

/// Which connection a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPolicy {
    /// A free one, or a new one up to `max`.
    Pooled { max: u32 },
    /// A fresh one for each request, closed after it; so many at a time at most.
    PerRequest { max: u32 },
}

impl SessionPolicy {
    pub fn max(self) -> u32 {
        match self {
            Self::Pooled { max } | Self::PerRequest { max } => max,
        }
    }

    #[must_use]
    pub fn with_max(self, max: u32) -> Self {
        match self {
            Self::Pooled { .. } => Self::Pooled { max },
            Self::PerRequest { .. } => Self::PerRequest { max },
        }
    }
}

/// Connections of a load for which nobody said how many, where the server and this process bear so many: what requests
/// pile up to is then the server's doing. Beyond a thousand a server on one machine does nothing but switch between them.
pub const SESSIONS_DEFAULT: u32 = 1_000;

words! {
    /// How statements travel.
    Protocol {
        /// Prepared once per session, executed in binary.
        Prepared = "prepared",
        /// Text with the parameters written in.
        Text = "text",
    }
}

#[derive(Clone)]
pub struct LoadPlan {
    pub target: Target,
    pub workload: Arc<dyn Workload>,
    pub arrivals: ArrivalPlan,
    /// Load before measuring begins; arrivals in it are not counted.
    pub warm_up: Nanos,
    /// Requests in flight early in the warm-up of an open load: an arrival that finds more is not sent, so that a cold server
    /// begins the measured phase without a backlog. `None` sends all.
    pub warm_up_max: Option<u32>,
    /// The measured phase; an arrival belongs to it by its scheduled instant.
    pub measure: Nanos,
    /// How long to wait after the last arrival for what is under way.
    pub drain: Nanos,
    /// Age at which a request is given up, counted from its arrival.
    pub timeout: Nanos,
    pub seed: Seed,
    pub sessions: SessionPolicy,
    pub protocol: Protocol,
    /// Threads; each drives many sessions.
    pub threads: usize,
    /// CPUs to pin the threads to, in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Whether the threads wait by polling instead of sleeping: each then takes a whole CPU, and is not late by
    /// what it costs to be woken.
    pub busy_poll: bool,
    /// File for one line per request (CSV, compressed with zstd).
    pub request_log: Option<PathBuf>,
    /// Of how many requests the parts of the response time are to be known; `None` of none.
    pub parts: Option<PartsPlan>,
}

/// Arrivals that find too many in flight early in the warm-up are not sent.
///
/// For three quarters of the warm-up at most: then all are sent, and what is in flight grows to what it is in the long run. A server
/// whose requests take long even so is slow and not cold, and needs that time: half-way a mean response of more than a sixteenth of
/// the warm-up ends it.
pub(super) struct Sparing {
    max: usize,
    half: Nanos,
    until: Nanos,
    slow: Nanos,
    ended: u64,
    took: Nanos,
}

impl Sparing {
    /// Of a warm-up that begins at `start`, with so many in flight; `None` spares nothing.
    pub fn new(max: Option<usize>, start: Nanos, warm_up: Nanos) -> Self {
        let until = start + Nanos(warm_up.0 / 4 * 3);
        Self {
            max: max.unwrap_or(usize::MAX),
            half: start + Nanos(warm_up.0 / 8 * 3),
            until,
            slow: Nanos(warm_up.0 / 16),
            ended: 0,
            took: Nanos::ZERO,
        }
    }

    pub fn spares(&self, at: Nanos, in_flight: usize) -> bool {
        let is_slow = self.took.0 >= self.ended.saturating_mul(self.slow.0);
        at < self.until && in_flight >= self.max && !(at >= self.half && is_slow)
    }

    pub fn ended(&mut self, took: Nanos) {
        self.ended += 1;
        self.took += took;
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

    fn after(requests: u64, took_ms: u64) -> Sparing {
        let mut sparing = Sparing::new(Some(2), Nanos::from_secs(10), Nanos::from_millis(1_600));
        (0..requests).for_each(|_| sparing.ended(Nanos::from_millis(took_ms)));
        sparing
    }

    #[test]
    fn a_cold_server_is_spared_for_three_quarters_of_the_warm_up() {
        let at = |ms: u64| Nanos::from_secs(10) + Nanos::from_millis(ms);
        let sparing = after(100, 40);
        assert!(sparing.spares(at(0), 2) && sparing.spares(at(1_199), 2));
        assert!(!sparing.spares(at(0), 1) && !sparing.spares(at(1_200), 9));
        assert!(!Sparing::new(None, at(0), Nanos::from_secs(1)).spares(at(0), 1_000));
    }

    #[test]
    fn a_slow_server_is_spared_for_half_of_that_time() {
        let at = |ms: u64| Nanos::from_secs(10) + Nanos::from_millis(ms);
        for sparing in [after(5, 200), after(0, 0)] {
            assert!(sparing.spares(at(599), 2) && !sparing.spares(at(600), 2));
        }
    }
}
