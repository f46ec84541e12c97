//! A load over time: what changed while it ran, as where its rate rises.

use crate::format;
use evenkeel_core::Nanos;
use evenkeel_lab::load::{ArrivalPlan, Interval, LoadPlan, LoadResult};
use serde::Serialize;
use std::fmt::Write as _;

/// Most stretches that a load is shown in: as many as a screen has lines to spare.
const STRETCHES_MAX: usize = 20;

/// One stretch of the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// Its start, seconds from the start of the measured phase.
    start_s: f64,
    /// Its length in seconds.
    length_s: f64,
    /// Rate asked for in the middle of it, per second; none with closed clients.
    rate_per_s: Option<f64>,
    /// Arrivals in it, per second.
    arrivals_per_s: f64,
    /// Completions in it, per second.
    completed_per_s: f64,
    /// Failures, timeouts and unsent requests that ended in it, per second.
    lost_per_s: f64,
    /// Mean response time of its arrivals; none where it has none that was answered.
    tau_ms: Option<f64>,
    /// Arrived and not ended at its end.
    backlog: u64,
}

/// The measured phase in stretches of equal length, but for the last.
pub fn stretches(plan: &LoadPlan, result: &LoadResult) -> Vec<Stretch> {
    let width = result.intervals.len().div_ceil(STRETCHES_MAX).max(1);
    result.intervals.chunks(width).map(|intervals| stretch(plan, result, intervals)).collect()
}

fn stretch(plan: &LoadPlan, result: &LoadResult, intervals: &[Interval]) -> Stretch {
    let start = intervals.first().map_or(Nanos::ZERO, |interval| interval.start);
    let length = Nanos(result.interval_length.0 * intervals.len() as u64).min(result.measured - start);
    let length_s = length.as_secs_f64().max(1e-9);
    let sum = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
    let responses = sum(|interval| interval.responses);
    let response_ms = Nanos(sum(|interval| interval.response_sum.0)).as_millis_f64();
    Stretch {
        start_s: start.as_secs_f64(),
        length_s,
        rate_per_s: rate(plan, start + Nanos(length.0 / 2)),
        arrivals_per_s: sum(|interval| interval.arrivals) as f64 / length_s,
        completed_per_s: sum(|interval| interval.completed) as f64 / length_s,
        lost_per_s: sum(|interval| interval.lost) as f64 / length_s,
        tau_ms: (responses > 0).then(|| response_ms / responses as f64),
        backlog: intervals.last().map_or(0, |interval| interval.in_flight),
    }
}

/// The rate asked for so long after the start of the measured phase.
fn rate(plan: &LoadPlan, at: Nanos) -> Option<f64> {
    match plan.arrivals {
        ArrivalPlan::Poisson(rate) | ArrivalPlan::Constant(rate) => Some(rate),
        ArrivalPlan::Ramp { from, to } => {
            let share = (plan.warm_up + at).as_secs_f64() / (plan.warm_up + plan.measure).as_secs_f64();
            Some(from + (to - from) * share)
        }
        ArrivalPlan::Closed { .. } => None,
    }
}

/// A line for each stretch below a line of names.
pub fn table(stretches: &[Stretch]) -> String {
    let mut text = String::from("    from      rate  completed        lost   response  backlog\n");
    for stretch in stretches {
        let rate = stretch.rate_per_s.map_or_else(|| "-".to_owned(), |rate| format::significant(rate, 3));
        let _ = writeln!(
            text,
            "{:>6.2} s {rate:>7}/s {:>8}/s {:>9}/s {:>10} {:>8}",
            stretch.start_s,
            format::significant(stretch.completed_per_s, 3),
            format::significant(stretch.lost_per_s, 3),
            stretch.tau_ms.map_or_else(|| "-".to_owned(), format::time),
            stretch.backlog,
        );
    }
    text
}
