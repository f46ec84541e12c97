//! Whether the published controller had come to rest where it was measured.

use crate::format;
use crate::harness::{Cell, Plan, Run, cells};
use crate::throttling::figures::{SETTLED, SETTLED_AT, WAITED};
use crate::throttling::record::{Setting, Settle, Treatment};
use crate::throttling::verdict::settled;
use evenkeel_core::caveat::{Caveat, Severity};

/// Whether points of the published controller were measured where it came to rest.
pub fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let mut ways = plan.parts.iter().flat_map(|part| part.levels("way"));
    if !ways.any(|level| level.name == Treatment::Reflection.name()) {
        return Vec::new();
    }
    let settle = setting.settle;
    let (span, most) = (format::seconds(settle.span_s), format::seconds(settle.most_s));
    let text = format!(
        "A point of the published controller begins when its limit has not moved for {span}, the span of its means, or after {most}: \
         then it has not settled. {}.",
        came_to_rest(plan, runs)
    );
    let waits = Caveat::new("rule-waited-for", Severity::Note, text)
        .with("span_s", settle.span_s)
        .with("waited_at_most_s", settle.most_s);
    let text = "After the step there is no wait for the published controller, to show how it moves.";
    let moves = Caveat::new("step-not-waited-for", Severity::Note, text);
    [Some(waits), short_span(settle.span_s), Some(moves)].into_iter().flatten().collect()
}

fn short_span(span_s: f64) -> Option<Caveat> {
    let text = format!(
        "The span of the published controller is {} instead of the published {}, and all of the controller with it: it decides \
         sixty times in a span, and throughput of a shorter span scatters more.",
        format::seconds(span_s),
        format::seconds(Settle::PUBLISHED_S)
    );
    (span_s < Settle::PUBLISHED_S).then(|| {
        Caveat::new("rule-of-a-short-span", Severity::Doubt, text)
            .with("span_s", span_s)
            .with("published_s", Settle::PUBLISHED_S)
    })
}

/// `Settled: 1 client after 60 s to 63 s at a limit of 8; not settled: 64 clients in 3 of 3 runs`.
fn came_to_rest(plan: &Plan, runs: &[Run]) -> String {
    let cells = cells(plan, runs);
    let waited: Vec<&Cell<'_>> = cells.iter().filter(|cell| settled(cell).is_some()).collect();
    if waited.is_empty() {
        return "No point of it has been measured yet".to_owned();
    }
    let told: Vec<String> = waited.into_iter().map(rest_of).collect();
    format!("By workload and clients: {}", told.join("; "))
}

/// What the limit did before a point; `None` where it was not waited for.
pub fn rest(run: &Run) -> Option<String> {
    let waited = format::seconds(run.figure(WAITED)?.round());
    let limit = run.figure(SETTLED_AT)?;
    Some(match run.figure(SETTLED)? > 0.0 {
        true => format!("settled after {waited} at a limit of {limit}"),
        false => format!("not settled after {waited}, at a limit of {limit}"),
    })
}

fn rest_of(cell: &Cell<'_>) -> String {
    let rested: Vec<&Run> = cell
        .runs
        .iter()
        .filter(|run| run.figure(SETTLED).is_some_and(|settled| settled > 0.0))
        .copied()
        .collect();
    let name = format!("{} {}", cell.part.name, cell.level("clients"));
    let (count, runs) = (rested.len(), cell.runs.len());
    if count == 0 {
        return format!("{name} not settled in {}", format::counted(runs, "run"));
    }
    let of = |figure: &'static str| rested.iter().filter_map(move |run| run.figure(figure));
    let (least, most) = range(of(WAITED).map(f64::round));
    let (low, high) = range(of(SETTLED_AT));
    let to = |low: f64, high: f64| match low < high {
        true => format!("{} to {}", format::short(low), format::short(high)),
        false => format::short(low),
    };
    let limit = to(low, high);
    let rest = if count < runs {
        format!(", not settled in {} of {runs} runs", runs - count)
    } else {
        String::new()
    };
    format!("{name} settled after {} s at a limit of {limit}{rest}", to(least, most))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
