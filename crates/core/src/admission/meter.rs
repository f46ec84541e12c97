//! What happened between two ticks, for the controller.

use crate::Nanos;
use crate::control::{Response, Sample};
use crate::histogram::Histogram;

/// Figures of one sampling interval. Response times are those at the server: from the admission to the
/// end, without the wait in the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    pub start: Nanos,
    pub end: Nanos,
    /// Time average of the transactions that ran in the short lane, those aside left out.
    pub in_flight_mean: f64,
    /// Most transactions that ran at one moment.
    pub in_flight_max: usize,
    /// Time average of the sessions that waited.
    pub queued_mean: f64,
    /// Transactions that ended well. Those of the long lane, and those that ended aside, are counted apart: their time
    /// is not that of what the limit is for.
    pub completions: u64,
    /// Transactions that ended well, each weighted by the usual cost of its digest.
    pub work: f64,
    /// Transactions that failed by overload: time-outs, out of resources.
    pub overloads: u64,
    /// Transactions that the server rolled back: deadlocks, lock waits that took too long.
    pub rolled_back: u64,
    /// Transactions whose end is no evidence about the server.
    pub ignored: u64,
    /// Arrivals that a bound of the queue refused.
    pub rejected: u64,
    pub response_mean: Option<Nanos>,
    pub response_min: Option<Nanos>,
    pub response_max: Option<Nanos>,
    /// Transactions that ended well in the long lane or aside.
    pub long: u64,
    /// Trifles that ended well, which ran without a place.
    pub trifles: u64,
    /// Response times of these and those of the long lane added up, in seconds.
    pub long_s: f64,
}

impl Interval {
    /// What a controller gets to see of it, without signals.
    pub fn sample(&self, limit: u32) -> Sample {
        let response = match (self.response_mean, self.response_min, self.response_max) {
            (Some(mean), Some(min), Some(max)) => {
                Some(Response { mean: mean.as_secs_f64(), min: min.as_secs_f64(), max: max.as_secs_f64() })
            }
            _ => None,
        };
        Sample {
            start: self.start,
            end: self.end,
            limit,
            in_flight_mean: self.in_flight_mean,
            in_flight_max: u32::try_from(self.in_flight_max).unwrap_or(u32::MAX),
            queued: self.queued_mean,
            completions: self.completions,
            work: self.work,
            rejected: self.rejected,
            overload: self.overloads,
            rolled_back: self.rolled_back,
            response,
            ..Sample::default()
        }
    }
}

/// Counts the figures of an interval until they are taken.
#[derive(Debug, Default)]
pub(super) struct Meter {
    current: Interval,
    response_sum: f64,
    integral: f64,
    queued_integral: f64,
    running: usize,
    waiting: usize,
    changed: Nanos,
    recent: Histogram,
}

/// The histogram of recent response times fades when it holds this many, so that its p99 follows.
const RECENT: u64 = 8_192;

impl Meter {
    /// From now on this many run and wait.
    pub fn level(&mut self, now: Nanos, running: usize, waiting: usize) {
        let lasted = (now - self.changed).as_secs_f64();
        self.integral += self.running as f64 * lasted;
        self.queued_integral += self.waiting as f64 * lasted;
        self.changed = self.changed.max(now);
        self.running = running;
        self.waiting = waiting;
        self.current.in_flight_max = self.current.in_flight_max.max(running);
    }

    pub fn trifle(&mut self, response: Nanos) {
        self.current.trifles += 1;
        self.current.long_s += response.as_secs_f64();
    }

    /// A transaction ended after `response`.
    pub fn ended(&mut self, outcome: Outcome, response: Nanos, work: f64) {
        let current = &mut self.current;
        match outcome {
            Outcome::Success => {
                current.completions += 1;
                current.work += if work.is_finite() { work.max(0.0) } else { 1.0 };
                self.response_sum += response.as_secs_f64();
                current.response_min = Some(current.response_min.map_or(response, |r| r.min(response)));
                current.response_max = current.response_max.max(Some(response));
            }
            other => self.failed(other),
        }
        if outcome != Outcome::Ignored {
            if self.recent.count() >= RECENT {
                self.recent.fade();
            }
            self.recent.record(response);
        }
    }

    /// A transaction of the long lane ended after `response`, which is no evidence about others.
    pub fn ended_long(&mut self, outcome: Outcome, response: Nanos) {
        match outcome {
            Outcome::Success => {
                self.current.long += 1;
                self.current.long_s += response.as_secs_f64();
            }
            other => self.failed(other),
        }
    }

    fn failed(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Success => {}
            Outcome::Overload => self.current.overloads += 1,
            Outcome::RolledBack => self.current.rolled_back += 1,
            Outcome::Ignored => self.current.ignored += 1,
        }
    }

    pub fn rejected(&mut self) {
        self.current.rejected += 1;
    }

    /// 99th percentile of recent response times.
    pub fn p99(&self) -> Option<Nanos> {
        self.recent.quantile(0.99)
    }

    pub fn take(&mut self, now: Nanos) -> Interval {
        self.level(now, self.running, self.waiting);
        let next = Interval { start: now, in_flight_max: self.running, ..Interval::default() };
        let mut done = std::mem::replace(&mut self.current, next);
        done.end = now;
        let length = (now - done.start).as_secs_f64();
        if length > 0.0 {
            done.in_flight_mean = self.integral / length;
            done.queued_mean = self.queued_integral / length;
        }
        if done.completions > 0 {
            done.response_mean = Some(Nanos::from_secs_f64(self.response_sum / done.completions as f64));
        }
        self.integral = 0.0;
        self.queued_integral = 0.0;
        self.response_sum = 0.0;
        done
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    /// The server rolled it back: a deadlock, or a lock wait that took too long.
    RolledBack,
    /// It failed by overload: a time-out, out of resources.
    Overload,
    /// In a way that is no evidence about the server: its connection ended, or its statement was wrong.
    Ignored,
}

/// A transaction that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub outcome: Outcome,
    /// Digest of its statements, the same for transactions of the same statements; 0 where it is not known.
    pub digest: u64,
    /// Time in which its commands were at the server, which leaves out pauses of the client.
    pub busy: Nanos,
}
