//! What became of the requests of one thread.

use super::request_log::{LogLine, LogSender};
use super::result::{Counts, Interval, KindResult, LoadResult};
use crate::workload::Workload;
use evenkeel_core::Nanos;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Highest value of a histogram: an hour. What is longer counts as an hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Most error codes with counts of their own; the server knows fewer than this for any one workload.
const CODES_MAX: usize = 256;
/// Counts what exceeds [`CODES_MAX`]: CR_UNKNOWN_ERROR.
const CODE_OTHER: u16 = 2000;

/// Times in nanoseconds.
pub(super) type Times = Histogram<u64>;

/// Three significant digits from a nanosecond to an hour.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).expect("the bounds are constants that the library allows")
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    Failed(u16),
    TimedOut,
    Unsent,
}

/// The instants of a request, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instants {
    pub arrival: Nanos,
    /// Zero where it was never sent.
    pub send: Nanos,
    /// Zero where nothing came back.
    pub first_byte: Nanos,
    /// When it ended, however it did.
    pub done: Nanos,
}

struct Series {
    completed: u64,
    lost: u64,
    response: Option<Box<Histogram<u64>>>,
}

impl Series {
    fn record(&mut self, value: Nanos) {
        let histogram = self.response.get_or_insert_with(|| Box::new(histogram()));
        histogram.saturating_record(value.0.max(1));
    }

    fn result(self, name: &str) -> KindResult {
        let response = self.response.map_or_else(histogram, |histogram| *histogram);
        KindResult { name: name.to_owned(), completed: self.completed, lost: self.lost, response }
    }
}

/// Counts, histograms and intervals of one thread; only requests that arrive in the measured phase count.
pub(super) struct Recorder {
    start: Nanos,
    end: Nanos,
    counts: Counts,
    response: Histogram<u64>,
    response_sum: Nanos,
    service: Histogram<u64>,
    first_byte: Histogram<u64>,
    lag: Histogram<u64>,
    session_wait: Histogram<u64>,
    intervals: Vec<Interval>,
    kinds: Vec<Series>,
    statements: Vec<Series>,
    error_texts: BTreeMap<u16, String>,
    log: Option<LogSender>,
}

impl Recorder {
    /// Measures nothing until the phase is known.
    pub fn new(workload: &dyn Workload, log: Option<LogSender>) -> Self {
        let series = |count| (0..count).map(|_| Series { completed: 0, lost: 0, response: None }).collect();
        Self {
            start: Nanos::MAX,
            end: Nanos::MAX,
            counts: Counts::default(),
            response: histogram(),
            response_sum: Nanos::ZERO,
            service: histogram(),
            first_byte: histogram(),
            lag: histogram(),
            session_wait: histogram(),
            intervals: Vec::new(),
            kinds: series(workload.kinds().len()),
            statements: series(workload.statements().len()),
            error_texts: BTreeMap::new(),
            log,
        }
    }

    /// The measured phase is from `start` to `end` on the monotonic clock.
    pub fn measure(&mut self, start: Nanos, end: Nanos) {
        (self.start, self.end) = (start, end);
        let seconds = (end - start).0.div_ceil(1_000_000_000);
        let interval = |second| Interval { start: Nanos::from_secs(second), ..Interval::default() };
        self.intervals = (0..seconds).map(interval).collect();
    }

    /// Whether an arrival at this instant belongs to the measured phase.
    pub fn measures(&self, arrival: Nanos) -> bool {
        (self.start..self.end).contains(&arrival)
    }

    /// The measured phase ends early.
    pub fn end_at(&mut self, now: Nanos) {
        self.end = self.end.min(now.max(self.start));
    }

    fn interval(&mut self, instant: Nanos) -> Option<&mut Interval> {
        let second = instant.0.checked_sub(self.start.0)? / 1_000_000_000;
        self.intervals.get_mut(usize::try_from(second).ok()?)
    }

    /// A request arrived.
    pub fn arrived(&mut self, arrival: Nanos) {
        if self.measures(arrival) {
            self.counts.arrivals += 1;
            if let Some(interval) = self.interval(arrival) {
                interval.arrivals += 1;
            }
        }
    }

    /// A statement of a measured request was answered, or failed.
    pub fn statement(&mut self, statement: usize, service: Option<Nanos>) {
        let Some(series) = self.statements.get_mut(statement) else { return };
        match service {
            Some(service) => {
                series.completed += 1;
                series.record(service);
            }
            None => series.lost += 1,
        }
    }

    /// A request was sent; `free` says whether a session was free when it arrived.
    pub fn sent(&mut self, arrival: Nanos, send: Nanos, free: bool) {
        let delay = send - arrival;
        let histogram = if free { &mut self.lag } else { &mut self.session_wait };
        histogram.saturating_record(delay.0.max(1));
        if let Some(interval) = self.interval(arrival).filter(|_| free) {
            interval.lag_max = interval.lag_max.max(delay);
        }
    }

    /// A request that arrived in the measured phase ended.
    pub fn ended(&mut self, instants: Instants, kind: usize, session: u32, outcome: Outcome) {
        let completed = outcome == Outcome::Completed;
        let response = instants.done - instants.arrival;
        match outcome {
            Outcome::Completed => self.completed(instants),
            Outcome::Failed(code) => self.count_failure(code),
            Outcome::TimedOut => self.counts.timed_out += 1,
            Outcome::Unsent => self.counts.unsent += 1,
        }
        // What failed says nothing about how long an answer takes; what timed out or was never sent says
        // that it takes longer than this.
        if !matches!(outcome, Outcome::Failed(_)) {
            self.response.saturating_record(response.0.max(1));
            self.response_sum += response;
            if let Some(interval) = self.interval(instants.arrival) {
                interval.response_sum += response;
            }
        }
        if let Some(series) = self.kinds.get_mut(kind) {
            series.completed += u64::from(completed);
            series.lost += u64::from(!completed);
            if !matches!(outcome, Outcome::Failed(_)) {
                series.record(response);
            }
        }
        let in_phase = instants.done < self.end;
        if let Some(interval) = self.interval(instants.done).filter(|_| in_phase) {
            interval.completed += u64::from(completed);
            interval.lost += u64::from(!completed);
        }
        self.write_log(instants, kind, session, outcome);
    }

    fn completed(&mut self, instants: Instants) {
        self.counts.completed += 1;
        self.service.saturating_record((instants.done - instants.send).0.max(1));
        self.first_byte.saturating_record((instants.first_byte - instants.send).0.max(1));
    }

    fn count_failure(&mut self, code: u16) {
        let failed = &mut self.counts.failed;
        let known = failed.len() < CODES_MAX || failed.contains_key(&code);
        *failed.entry(if known { code } else { CODE_OTHER }).or_default() += 1;
    }

    fn write_log(&mut self, instants: Instants, kind: usize, session: u32, outcome: Outcome) {
        if let Some(log) = &mut self.log {
            let since =
                |instant: Nanos| (instant != Nanos::ZERO).then(|| instant.0.wrapping_sub(self.start.0));
            log.push(LogLine {
                arrival: instants.arrival.0.wrapping_sub(self.start.0),
                send: since(instants.send),
                first_byte: since(instants.first_byte),
                done: instants.done.0.wrapping_sub(self.start.0),
                kind: kind as u32,
                outcome,
                session,
            });
        }
    }

    /// Keeps one text of each error code.
    pub fn error_text(&mut self, code: u16, text: &str) {
        if self.error_texts.len() < CODES_MAX && !self.error_texts.contains_key(&code) {
            self.error_texts.insert(code, text.to_owned());
        }
    }

    /// The result of this thread; the caller fills in what is not recorded here.
    pub fn finish(mut self, workload: &dyn Workload) -> LoadResult {
        if let Some(log) = self.log.take() {
            log.finish();
        }
        let measured = self.end - self.start;
        self.intervals.retain(|interval| interval.start < measured);
        let named = |series: Vec<Series>, names: Vec<&str>| {
            series.into_iter().zip(names).map(|(series, name)| series.result(name)).collect()
        };
        let kinds = workload.kinds().iter().map(String::as_str).collect();
        let statements = workload.statements().iter().map(|statement| statement.name.as_str()).collect();
        LoadResult {
            counts: self.counts,
            measured,
            stopped: false,
            response: self.response,
            response_sum: self.response_sum,
            service: self.service,
            first_byte: self.first_byte,
            lag: self.lag,
            session_wait: self.session_wait,
            intervals: self.intervals,
            kinds: named(self.kinds, kinds),
            statements: named(self.statements, statements),
            error_texts: self.error_texts,
            sessions_max: 0,
            reconnects: 0,
            backlog_at_end: 0,
            cpu: Nanos::ZERO,
            context_switches: 0,
        }
    }
}
