//! Requests of a stretch of time: what the server did in it is divided by what it was asked in it, and by nothing else.

use super::watch::StatusStretch;
use crate::store::format::StretchRecord;
use evenkeel_core::Nanos;
use evenkeel_lab::load::{Interval, LoadPlan, LoadResult, Protocol, SessionPolicy};
use evenkeel_sense::status::StatusUse;

/// The server counts more statements than we have asked where others ask too; up to here that may be chance.
const OTHERS_MAX: f64 = 1.25;

/// Requests completed from one instant to another, both from the start of the measured phase; `None` where there was none.
pub(super) fn completed(load: &LoadResult, from: Nanos, to: Nanos) -> Option<f64> {
    let count = Course::of(load).count(from, to, |interval| interval.completed);
    (count > 0.0).then_some(count)
}

/// The measured phase, piece by piece.
struct Course<'a> {
    intervals: &'a [Interval],
    length: Nanos,
    measured: Nanos,
}

impl<'a> Course<'a> {
    fn of(load: &'a LoadResult) -> Self {
        Self { intervals: &load.intervals, length: load.interval_length, measured: load.measured }
    }

    /// Inside an interval as if evenly; behind the last one, while the load drains, as in the last.
    fn count(&self, from: Nanos, to: Nanos, of: fn(&Interval) -> u64) -> f64 {
        let last = self.intervals.len().saturating_sub(1);
        let in_interval = |(index, interval): (usize, &Interval)| {
            let whole = (self.measured - interval.start).min(self.length);
            let end = if index == last { to } else { to.min(interval.start + whole) };
            of(interval) as f64 * (end - from.max(interval.start)).0 as f64 / whole.0.max(1) as f64
        };
        self.intervals.iter().enumerate().map(in_interval).sum()
    }
}

pub(super) fn record(
    plan: &LoadPlan,
    load: &LoadResult,
    status: &StatusUse,
    stretch: &StatusStretch,
) -> StretchRecord {
    let seconds = (stretch.to - stretch.from).as_secs_f64();
    let record = StretchRecord { seconds, requests: None, slack_s: stretch.slack.as_secs_f64() };
    let requests = match executed(plan, status) {
        Some(executed) => ours(executed, plan, load, stretch),
        None => completed(load, stretch.from, stretch.to).filter(|_| record.is_sharp()),
    };
    StretchRecord { requests, ..record }
}

/// Requests of so many statements; `None` where there were none, or others ask too.
fn ours(executed: u64, plan: &LoadPlan, load: &LoadResult, stretch: &StatusStretch) -> Option<f64> {
    let requests = executed as f64 / statements_per_request(plan, load)?;
    let ended = |interval: &Interval| interval.completed + interval.lost;
    let ours = Course::of(load).count(stretch.from, stretch.to + stretch.slack + stretch.slack, ended);
    let is_ours = requests <= OTHERS_MAX * ours + f64::from(load.sessions_max);
    (requests > 0.0 && is_ours).then_some(requests)
}

/// Statements that the server counts when it begins them. Statements in text are told from others only as long as no session
/// ends, which it counts as a question too.
fn executed(plan: &LoadPlan, status: &StatusUse) -> Option<u64> {
    let prepared = plan.protocol == Protocol::Prepared
        && plan.workload.statements().iter().all(|statement| statement.prepared);
    match plan.sessions {
        _ if prepared => status.counter("Com_stmt_execute"),
        SessionPolicy::Pooled { .. } => status.counter("Questions"),
        SessionPolicy::PerRequest { .. } => None,
    }
}

/// By the requests of the measured phase; where none of them was completed, because the queue of the warm-up stood before
/// them, by what the workload knows.
fn statements_per_request(plan: &LoadPlan, load: &LoadResult) -> Option<f64> {
    if let [_] = load.statements[..] {
        return Some(1.0);
    }
    let statements: u64 = load.statements.iter().map(|statement| statement.completed).sum();
    match load.counts.completed {
        0 => plan.workload.weights().map(|weights| weights.iter().sum()),
        completed => Some(statements as f64 / completed as f64),
    }
    .filter(|statements| *statements > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_where_they_ended_and_in_parts_of_intervals() {
        let second = |number: u64, completed| Interval {
            start: Nanos::from_secs(number),
            completed,
            ..Interval::default()
        };
        // The last interval is half as long.
        let intervals = [second(0, 100), second(1, 0), second(2, 40), second(3, 10)];
        let course = Course {
            intervals: &intervals,
            length: Nanos::from_secs(1),
            measured: Nanos::from_millis(3_500),
        };
        let counted = |from, to| {
            course.count(Nanos::from_millis(from), Nanos::from_millis(to), |interval| interval.completed)
        };
        for (from, to, expected) in [
            (0, 3_500, 150.0),
            (0, 1_000, 100.0),
            (500, 1_500, 50.0),
            (2_250, 2_500, 10.0),
            (3_000, 3_250, 5.0),
            // The load drains, and completes as much as before.
            (3_000, 4_500, 30.0),
            (4_000, 4_500, 10.0),
            (1_500, 1_500, 0.0),
            (2_500, 1_500, 0.0),
        ] {
            assert!((counted(from, to) - expected).abs() < 1e-9, "{from} to {to}: {}", counted(from, to));
        }
        let nothing = Course { intervals: &[], length: Nanos::ZERO, measured: Nanos::ZERO };
        assert_eq!(nothing.count(Nanos::ZERO, Nanos::from_secs(1), |interval| interval.completed), 0.0);
    }
}
