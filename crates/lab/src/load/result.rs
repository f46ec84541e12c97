//! What a run of load brought, before anyone judges it.

use super::parts::PartsResult;
use super::written::Written;
use evenkeel_core::Nanos;
use evenkeel_core::statistics::pooled::Batch;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Highest value of a histogram: an hour. What is longer counts as an hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;

/// What became of the arrivals of the measured phase. The four ends add up to the arrivals, always.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Scheduled in the measured phase (and before an early stop).
    pub arrivals: u64,
    pub completed: u64,
    /// Answered by an error, by error code; connection losses count under 2013.
    pub failed: BTreeMap<u16, u64>,
    /// Sent and given up at the timeout, or still under way when the drain ended.
    pub timed_out: u64,
    /// Never sent: no session was free until the timeout or the end.
    pub unsent: u64,
}

impl Counts {
    /// Adds the ends of another run.
    pub fn add(&mut self, other: &Self) {
        self.arrivals += other.arrivals;
        self.completed += other.completed;
        self.timed_out += other.timed_out;
        self.unsent += other.unsent;
        for (code, count) in &other.failed {
            *self.failed.entry(*code).or_default() += count;
        }
    }
}

/// A stretch of the measured phase, by scheduled arrival (arrivals, response) or by instant (the rest).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Start, from the start of the measured phase.
    pub start: Nanos,
    pub arrivals: u64,
    /// Completions in it, those of arrivals of the warm-up among them.
    pub completed: u64,
    /// Failures, timeouts and unsent requests that ended in it, likewise.
    pub lost: u64,
    /// Sum of the response times of the arrivals scheduled in it.
    pub response_sum: Nanos,
    /// How many of them that sum has: all but those that failed, as far as they have ended.
    pub responses: u64,
    pub lag_max: Nanos,
    pub lag_sum: Nanos,
    /// Arrived and not ended at the end of the interval.
    pub in_flight: u64,
}

/// A tenth of a second of the measured phase, for what happened while nobody disturbed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Completions in it, those of arrivals of the warm-up among them.
    pub completed: u64,
    /// Arrivals in it whose response counts.
    pub responses: u64,
    pub response_sum: Nanos,
    pub lag_max: Nanos,
}

/// Response times of one kind of request or statement.
#[derive(Clone, Debug)]
pub struct KindResult {
    pub name: String,
    pub completed: u64,
    pub lost: u64,
    /// Response times in nanoseconds (requests), or times from send to done (statements).
    pub response: Histogram<u64>,
}

/// A silence in which requests wait for a session is the server's where it is so many times as long as a request usually takes.
const SILENT_TIMES: u64 = 10;

#[derive(Clone, Debug)]
pub struct LoadResult {
    pub counts: Counts,
    /// Length of the measured phase; shorter than planned after an early stop.
    pub measured: Nanos,
    /// Whether it ended early because somebody asked.
    pub stopped: bool,
    /// Completion - arrival, ns; what timed out or was never sent counts at the age it had reached, so
    /// with such requests this is a lower bound.
    pub response: Histogram<u64>,
    /// Exact sum of what `response` counts.
    pub response_sum: Nanos,
    /// The measured phase in twenty stretches by scheduled arrival; fewer after an early stop.
    pub batches: Vec<Batch>,
    /// Done - send, ns, of completed requests.
    pub service: Histogram<u64>,
    /// First byte - send, ns, of completed requests.
    pub first_byte: Histogram<u64>,
    /// Send - arrival - wait for a session, ns, of every request that was sent: the generator's own error, also where it
    /// read the answer late that made the session free.
    pub lag: Histogram<u64>,
    /// What a request had to wait for a session (`max` reached or connecting), ns, of those that had to; of those that
    /// were never sent the age that they had reached.
    pub session_wait: Histogram<u64>,
    /// What of that passed while the server sent nothing on any session, by how long that went on, down to a hundredth of a second:
    /// with a server that works that is a part of a request, with one that holds all sessions up it is long.
    pub silences: BTreeMap<Nanos, Nanos>,
    /// The measured phase in stretches of `interval_length`.
    pub intervals: Vec<Interval>,
    /// A second, or a quarter of it in runs below 40 s.
    pub interval_length: Nanos,
    /// The first hour of the measured phase in stretches of a tenth of a second.
    pub stretches: Vec<Stretch>,
    /// Requests that arrived in the warm-up and had not ended with it.
    pub carried_over: u64,
    pub kinds: Vec<KindResult>,
    /// Response times of each statement of the workload.
    pub statements: Vec<KindResult>,
    /// By step of a request, from the first statement of the step to its last answer; empty where requests have no
    /// steps. A step that a failure cut is not among them.
    pub steps: Vec<KindResult>,
    /// Requests whose work was rolled back by the workload's own rule; they are completed all the same.
    pub rolled_back: u64,
    /// Errors after which a client went on with its request: deadlocks, for one.
    pub tried_again: u64,
    /// Requests completed with an error, by code, with one text of each for the report.
    pub error_texts: BTreeMap<u16, String>,
    /// Most sessions that were open at once.
    pub sessions_max: u32,
    /// Connections opened again after a loss.
    pub reconnects: u64,
    /// Times that the server was heard from in the measured phase or the drain, answers to requests that were given up
    /// among them. Where it is 0 the server does not answer at all.
    pub heard: u64,
    /// Arrived and not ended at the end of the measured phase.
    pub backlog_at_end: u64,
    /// CPU time of the load threads in the measured phase.
    pub cpu: Nanos,
    /// CPU time of the busiest of them: near `measured` the generator is saturated, however idle the rest.
    pub cpu_busiest: Nanos,
    pub context_switches: u64,
    /// What the response times of some requests are made of; empty where that was not asked for.
    pub parts: PartsResult,
    /// What was written over all phases, the warm-up included.
    pub written: Written,
}

pub(super) type Times = Histogram<u64>;

/// Three significant digits from a nanosecond to an hour.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).expect("the bounds are constants that the library allows")
}

impl LoadResult {
    /// What share of the waits for a session is the server's, which held all sessions up; and for how long it did so at most.
    pub fn held_up(&self) -> (f64, Nanos) {
        let usual = self.service.value_at_quantile(0.5);
        let long = self.silences.range(Nanos(usual.saturating_mul(SILENT_TIMES))..);
        let waited: f64 = long.map(|(_, waited)| waited.0 as f64).sum();
        let all = self.session_wait.mean() * self.session_wait.len() as f64;
        ((waited / all.max(1.0)).min(1.0), self.silences.keys().next_back().copied().unwrap_or_default())
    }
}

/// A second in which nothing happened.
pub fn nothing_measured() -> LoadResult {
    let empty = histogram;
    LoadResult {
        counts: Counts::default(),
        measured: Nanos::from_secs(1),
        stopped: false,
        response: empty(),
        response_sum: Nanos::ZERO,
        batches: Vec::new(),
        stretches: Vec::new(),
        service: empty(),
        first_byte: empty(),
        lag: empty(),
        session_wait: empty(),
        silences: BTreeMap::new(),
        intervals: Vec::new(),
        interval_length: Nanos::from_secs(1),
        carried_over: 0,
        kinds: Vec::new(),
        statements: Vec::new(),
        steps: Vec::new(),
        rolled_back: 0,
        tried_again: 0,
        error_texts: BTreeMap::new(),
        sessions_max: 0,
        reconnects: 0,
        heard: 0,
        backlog_at_end: 0,
        cpu: Nanos::ZERO,
        cpu_busiest: Nanos::ZERO,
        context_switches: 0,
        parts: PartsResult::default(),
        written: Written::default(),
    }
}
