//! What became of the requests of one thread.

use super::parts::PartsResult;
use super::request_log::{End, LogSender, Outcome};
use super::result::{Interval, KindResult, LoadResult, histogram, nothing_measured};
use super::schedule::Arrival;
use super::stretches::{Batches, Stretches};
use super::written::Written;
use crate::workload::{StepEnd, Workload};
use evenkeel_core::Nanos;
use hdrhistogram::Histogram;

/// Most error codes with counts of their own; the server knows fewer than this for any one workload.
const CODES_MAX: usize = 256;
/// Counts what exceeds [`CODES_MAX`]: CR_UNKNOWN_ERROR.
const CODE_OTHER: u16 = 2000;

/// Ends counted at a time: their histograms are then in the cache, and 32 of them take about 10 us, less than
/// the dispatch lag that is asked for.
const BATCH: usize = 32;

/// Shorter silences of the server are not counted: each that is costs a look at all requests that wait.
const SILENCE_MIN: Nanos = Nanos::from_millis(50);
/// Silences are told apart by so much, so that a long run has few of them.
const SILENCE_STEP: u64 = Nanos::from_millis(10).0;

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

/// Length of an interval in a long run.
const INTERVAL_LONG: Nanos = Nanos::from_secs(1);

/// And in a short one, which would otherwise have too few intervals to see how they depend on one another.
const INTERVAL_SHORT: Nanos = Nanos::from_millis(250);

/// Fewest intervals of a second that a run is cut into.
const INTERVALS_MIN: u64 = 40;

fn interval_length(measured: Nanos) -> Nanos {
    if measured.0 < INTERVALS_MIN * INTERVAL_LONG.0 { INTERVAL_SHORT } else { INTERVAL_LONG }
}

/// What one thread brings; only requests that arrive in the measured phase count.
pub(super) struct Recorder {
    start: Nanos,
    end: Nanos,
    /// Its batches, stretches and series are counted beside it.
    result: LoadResult,
    batches: Batches,
    stretches: Stretches,
    kinds: Vec<Series>,
    statements: Vec<Series>,
    steps: Vec<Series>,
    log: Option<LogSender>,
    /// Not yet counted.
    ends: Vec<End>,
}

impl Recorder {
    /// Measures nothing until the phase is known.
    pub fn new(workload: &dyn Workload, log: Option<LogSender>) -> Self {
        let series = |count| (0..count).map(|_| Series { completed: 0, lost: 0, response: None }).collect();
        Self {
            start: Nanos::MAX,
            end: Nanos::MAX,
            result: nothing_measured(),
            batches: Batches::default(),
            stretches: Stretches::default(),
            kinds: series(workload.kinds().len()),
            statements: series(workload.statements().len()),
            steps: series(workload.steps().len()),
            log,
            ends: Vec::with_capacity(BATCH),
        }
    }

    /// The measured phase is from `start` to `end` on the monotonic clock.
    pub fn measure(&mut self, start: Nanos, end: Nanos) {
        (self.start, self.end) = (start, end);
        if let Some(log) = &mut self.log {
            log.start = start;
        }
        self.batches = Batches::new(start, end);
        self.stretches = Stretches::new(start, end);
        self.result.interval_length = interval_length(end - start);
        let length = self.result.interval_length.0;
        let interval = |index| Interval { start: Nanos(index * length), ..Interval::default() };
        self.result.intervals = (0..(end - start).0.div_ceil(length)).map(interval).collect();
    }

    /// Whether an arrival at this instant belongs to the measured phase.
    pub fn measures(&self, arrival: Nanos) -> bool {
        (self.start..self.end).contains(&arrival)
    }

    pub fn end_at(&mut self, now: Nanos) {
        self.end = self.end.min(now.max(self.start));
    }

    fn interval(&mut self, instant: Nanos) -> Option<&mut Interval> {
        let index = instant.0.checked_sub(self.start.0)? / self.result.interval_length.0;
        self.result.intervals.get_mut(usize::try_from(index).ok()?)
    }

    pub fn arrived(&mut self, arrival: Nanos) {
        if self.measures(arrival) {
            self.result.counts.arrivals += 1;
            self.batches.arrived(arrival);
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

    /// A step of a measured request ended, so long after it began.
    pub fn step(&mut self, end: StepEnd, took: Nanos) {
        let (step, rolled_back) = match end {
            StepEnd::Done(step) => (step, false),
            StepEnd::RolledBack(step) => (step, true),
            StepEnd::Untimed => return,
        };
        self.result.rolled_back += u64::from(rolled_back);
        let Some(series) = self.steps.get_mut(step) else { return };
        series.completed += 1;
        series.record(took);
    }

    pub fn parts(&mut self) -> &mut PartsResult {
        &mut self.result.parts
    }

    pub fn wrote(&mut self, written: &Written) {
        self.result.written.add(written);
    }

    /// The client of a measured request went on after an error.
    pub fn tried_again(&mut self) {
        self.result.tried_again += 1;
    }

    /// Requests of these arrivals waited for a session in a silence of the server.
    pub fn waited_in_silence<'a>(
        &mut self,
        arrivals: impl IntoIterator<Item = &'a Arrival>,
        from: Nanos,
        now: Nanos,
    ) {
        if now - from < SILENCE_MIN {
            return;
        }
        let measured = arrivals.into_iter().filter(|arrival| self.measures(arrival.at));
        let waited = measured.fold(Nanos::ZERO, |sum, arrival| sum + (now - arrival.at.max(from)));
        if waited > Nanos::ZERO {
            let silence = (now - from).0;
            *self.result.silences.entry(Nanos(silence - silence % SILENCE_STEP)).or_default() += waited;
        }
    }

    /// Bytes of the server came, to whichever request.
    pub fn heard(&mut self, now: Nanos) {
        self.result.heard += u64::from(now >= self.start);
    }

    /// A request that arrived in the measured phase ended.
    pub fn ended(&mut self, end: End) {
        self.ends.push(end);
        if self.ends.len() == BATCH {
            self.count_ends();
        }
    }

    /// A request that arrived in the warm-up ended. What it still asked of the server in the measured phase is
    /// work done in that phase: it counts in the intervals, and in nothing else.
    pub fn ended_from_warm_up(&mut self, arrival: Nanos, done: Nanos, completed: bool) {
        if arrival >= self.start || done < self.start {
            return;
        }
        self.result.carried_over += 1;
        self.count_in_interval(done, completed);
    }

    fn count_in_interval(&mut self, done: Nanos, completed: bool) {
        let in_phase = done < self.end;
        if let Some(interval) = self.interval(done).filter(|_| in_phase) {
            interval.completed += u64::from(completed);
            interval.lost += u64::from(!completed);
        }
        if in_phase && completed {
            self.stretches.completed(done);
        }
    }

    fn count_ends(&mut self) {
        let mut ends = std::mem::take(&mut self.ends);
        for end in ends.drain(..) {
            self.count(end);
        }
        self.ends = ends;
    }

    fn count(&mut self, end: End) {
        self.count_waited(end);
        match end.outcome {
            Outcome::Completed => self.count_completed(end),
            Outcome::Failed(code) => self.count_failure(code),
            Outcome::TimedOut => self.result.counts.timed_out += 1,
            Outcome::Unsent => self.result.counts.unsent += 1,
        }
        self.count_response(end);
        let completed = end.outcome == Outcome::Completed;
        if let Some(series) = self.kinds.get_mut(end.kind as usize) {
            series.completed += u64::from(completed);
            series.lost += u64::from(!completed);
        }
        self.count_in_interval(end.done, completed);
        if let Some(log) = &mut self.log {
            log.push(end);
        }
    }

    /// What was never sent has waited for a session all its life, and tells no lag.
    fn count_waited(&mut self, end: End) {
        if end.waited != Nanos::ZERO {
            self.result.session_wait.saturating_record(end.waited.0);
        }
        if end.send == Nanos::ZERO {
            return;
        }
        let lag = end.send - end.arrival - end.waited;
        self.result.lag.saturating_record(lag.0.max(1));
        self.stretches.sent(end.arrival, lag);
        if let Some(interval) = self.interval(end.arrival) {
            interval.lag_max = interval.lag_max.max(lag);
            interval.lag_sum += lag;
        }
    }

    /// What failed says nothing about how long an answer takes; what timed out or was never sent says that
    /// it takes longer than this.
    fn count_response(&mut self, end: End) {
        let response = end.done - end.arrival;
        let counts = !matches!(end.outcome, Outcome::Failed(_));
        let is_completed = end.outcome == Outcome::Completed;
        self.batches.ended(end.arrival, is_completed, counts.then_some(response));
        if !counts {
            return;
        }
        self.result.response_sum += response;
        self.stretches.responded(end.arrival, response);
        match self.kinds.get_mut(end.kind as usize) {
            Some(series) => series.record(response),
            None => self.result.response.saturating_record(response.0.max(1)),
        }
        if let Some(interval) = self.interval(end.arrival) {
            interval.response_sum += response;
            interval.responses += 1;
        }
    }

    fn count_completed(&mut self, end: End) {
        self.result.counts.completed += 1;
        self.result.service.saturating_record((end.done - end.send).0.max(1));
        self.result.first_byte.saturating_record((end.first_byte - end.send).0.max(1));
    }

    fn count_failure(&mut self, code: u16) {
        let failed = &mut self.result.counts.failed;
        let known = failed.len() < CODES_MAX || failed.contains_key(&code);
        *failed.entry(if known { code } else { CODE_OTHER }).or_default() += 1;
    }

    /// Keeps one text of each error code.
    pub fn error_text(&mut self, code: u16, text: &str) {
        if self.result.error_texts.len() < CODES_MAX && !self.result.error_texts.contains_key(&code) {
            self.result.error_texts.insert(code, text.to_owned());
        }
    }

    /// The result of this thread; the caller fills in what is not recorded here.
    pub fn finish(mut self, workload: &dyn Workload) -> LoadResult {
        self.count_ends();
        if let Some(log) = self.log.take() {
            log.finish();
        }
        let mut result = self.result;
        result.measured = self.end - self.start;
        result.intervals.retain(|interval| interval.start < result.measured);
        // Requests of no known kind are there already.
        for series in self.kinds.iter().filter_map(|series| series.response.as_deref()) {
            result.response.add(series).expect("all histograms have the same bounds");
        }
        let named = |series: Vec<Series>, names: &[String]| {
            series.into_iter().zip(names).map(|(series, name)| series.result(name)).collect()
        };
        let statements = workload.statements().iter().map(|statement| statement.name.clone());
        result.batches = self.batches.finish(result.measured);
        result.stretches = self.stretches.finish(result.measured);
        result.kinds = named(self.kinds, workload.kinds());
        result.statements = named(self.statements, &statements.collect::<Vec<_>>());
        result.steps = named(self.steps, workload.steps());
        result
    }
}
