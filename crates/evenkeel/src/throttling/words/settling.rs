//! Whether the published rule had come to rest where it was measured.

use crate::format;
use crate::throttling::record::{PlanFile, PointFile, Settle, Settling, Way};
use crate::throttling::summary::{Cell, cells};

/// Whether points of the published rule were measured where it came to rest.
pub fn caveats(plan: &PlanFile, points: &[PointFile]) -> Vec<String> {
    if !plan.shopping.ways.contains(&Way::Reflection) {
        return Vec::new();
    }
    let Some(settle) = plan.settle else {
        return vec!["The points of the study's rule did not wait until its limit had settled.".to_owned()];
    };
    let (span, most) = (format::seconds(settle.span_s), format::seconds(settle.most_s));
    let mut found = vec![format!(
        "A point of the study's rule begins when its limit has not moved for {span}, the span of its means, or after {most}: \
         then it has not settled. {}.",
        came_to_rest(points)
    )];
    if settle.span_s < Settle::PUBLISHED_S {
        found.push(format!(
            "The span of the study's rule is {span} instead of the published {}, and all of the rule with it: it decides \
             sixty times in a span, and throughput of a shorter span scatters more.",
            format::seconds(Settle::PUBLISHED_S)
        ));
    }
    found.push("After the step nothing waits for the study's rule: that is to show how it moves.".to_owned());
    found
}

/// `Settled: 1 client after 60 s to 63 s at a limit of 8; not settled: 64 clients in 3 of 3 runs`.
fn came_to_rest(points: &[PointFile]) -> String {
    let cells = cells(points);
    let waited: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.settled().is_some()).collect();
    if waited.is_empty() {
        return "No point of it has been measured yet".to_owned();
    }
    let told: Vec<String> = waited.into_iter().map(rest_of).collect();
    format!("By workload and clients: {}", told.join("; "))
}

/// What one limit did before its point.
pub fn rest(settling: Settling) -> String {
    let (waited, limit) = (format::seconds(settling.waited_s.round()), settling.limit);
    match settling.settled {
        true => format!("settled after {waited} at a limit of {limit}"),
        false => format!("not settled after {waited}, at a limit of {limit}"),
    }
}

fn rest_of(cell: &Cell<'_>) -> String {
    let settled: Vec<Settling> =
        cell.runs.iter().filter_map(|run| run.settling).filter(|of| of.settled).collect();
    let name = format!("{} {}", cell.load.name(), cell.clients);
    let (count, runs) = (settled.len(), cell.runs.len());
    if count == 0 {
        return format!("{name} not settled in {}", format::counted(runs, "run"));
    }
    let (least, most) = range(settled.iter().map(|of| of.waited_s.round()));
    let (low, high) = range(settled.iter().map(|of| f64::from(of.limit)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttling::fixture::{falling, plan};

    #[test]
    fn points_of_the_published_rule_say_when_it_settled_or_that_it_did_not() {
        let said = |plan: &PlanFile, points: &[PointFile]| caveats(plan, points).join("\n");
        let mut points = falling();
        let full = said(&plan(), &points);
        for part in [
            "its limit has not moved for 1 min, the span of its means, or after 10 min",
            "shopping 8 settled after 61 to 63 s at a limit of 4; shopping 64 not settled in 3 runs",
        ] {
            assert!(full.contains(part), "{part} in {full}");
        }
        assert!(!full.contains("instead of the published"), "{full}");
        let late = |point: &&mut PointFile| point.key.clients == 8 && point.key.repeat == 1;
        let settling = points.iter_mut().filter(late).filter_map(|point| point.settling.as_mut());
        settling.for_each(|settling| settling.settled = false);
        let quick = said(&PlanFile { settle: Some(Settle::of_span(6.0)), ..plan() }, &points);
        for part in [
            "has not moved for 6 s",
            "or after 1 min",
            "at a limit of 4, not settled in 1 of 3 runs",
            "is 6 s instead of the published 1 min, and all of the rule with it",
        ] {
            assert!(quick.contains(part), "{part} in {quick}");
        }
        let old = said(&PlanFile { settle: None, ..plan() }, &points);
        assert!(old.contains("did not wait until its limit had settled"), "{old}");
    }
}
