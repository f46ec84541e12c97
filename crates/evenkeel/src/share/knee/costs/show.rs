//! What came of costs that were measured, for people and for programs.

use super::figures::{CostsPlan, Found, Measured, name};
use crate::config::costs::text as table_text;
use crate::format::{fixed, percent, significant};
use crate::share::knee::label;
use crate::table::{GridColumn, Look, lines};
use anyhow::Result;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::share::knee::RISE_MOST;
use evenkeel_study::store::Caveats;
use serde_json::{Value, json as object};

/// The table, the lines of a file that take it over, and the doubts.
///
/// # Errors
/// A kind of which nothing ended.
pub fn text(found: &Found, plan: &CostsPlan, caveats: &[Caveat], look: Look) -> Result<String> {
    let mut text = lines(columns(found), &[], look);
    let (tables, error) = found.tables()?;
    let (reads, writes) = (table_text(&tables.reads), table_text(&tables.writes));
    text.push_str(&format!(
        "\nwith {} outstanding; the worst of these is known to {} (standard error)\n",
        found.depth,
        percent((1_000.0 * error).round() / 10.0)
    ));
    text.push_str("next: in the file of every host; one whose costs differ is reported\n");
    text.push_str(&settings(&reads, &writes));
    for caveat in doubts(found, plan, error).iter().chain(caveats) {
        text.push_str(&format!("{}: {caveat}\n", label(caveat)));
    }
    Ok(text)
}

fn settings(reads: &str, writes: &str) -> String {
    let writes = if writes.is_empty() { String::new() } else { format!("write = \"{writes}\"\n") };
    format!("[costs]\nread = \"{reads}\"\n{writes}")
}

fn columns(found: &Found) -> Vec<GridColumn> {
    let places: Vec<usize> = (0..found.kinds.len()).collect();
    let column = |head: &str, rank, right, value: &dyn Fn(usize) -> String| {
        GridColumn::of(&places, [head, ""], right, rank, |place| value(*place))
    };
    let mean = |place: usize| {
        let throughputs = &found.kinds[place].throughputs;
        throughputs.iter().sum::<f64>() / throughputs.len().max(1) as f64
    };
    let cost = |place: usize| found.cost(place).map_or("-".to_owned(), |cost| significant(cost.value, 3));
    let error = |place: usize| {
        found.cost(place).map_or("-".to_owned(), |cost| percent((1_000.0 * cost.error).round() / 10.0))
    };
    vec![
        column("I/O", 0, false, &|place| name(found.kinds[place].kind)),
        column("I/Os/s", 0, true, &|place| fixed(mean(place), 0)),
        column("mean ms", 1, true, &|place| significant(1e3 * found.kinds[place].latency_s, 3)),
        column("rounds", 2, true, &|place| found.kinds[place].throughputs.len().to_string()),
        column("cost", 0, true, &cost),
        column("standard error", 1, true, &error),
    ]
}

fn doubts(found: &Found, plan: &CostsPlan, error: f64) -> Vec<Caveat> {
    [not_known(plan, error), rises(found), filling(found), no_writes(plan)].into_iter().flatten().collect()
}

fn not_known(plan: &CostsPlan, error: f64) -> Option<Caveat> {
    // Of a quotient of two means that are known as well as was asked for.
    let tolerated = std::f64::consts::SQRT_2 * plan.error;
    let text = "not all are as exact as requested: measure for longer (--limit)";
    (error > tolerated).then(|| {
        Caveat::new("costs-uncertain", Severity::Doubt, text)
            .with("worst_standard_error_percent", 100.0 * error)
            .with("tolerated_percent", 100.0 * tolerated)
    })
}

fn rises(found: &Found) -> Option<Caveat> {
    let text = format!(
        "throughput still rises with {} outstanding, so the costs include latency that hosts add (--depth-max)",
        found.depth
    );
    (found.rise > RISE_MOST).then(|| {
        Caveat::new("throughput-rises", Severity::Doubt, text)
            .with("rise_percent", 100.0 * found.rise)
            .with("tolerated_percent", 100.0 * RISE_MOST)
            .with("depth", f64::from(found.depth))
    })
}

fn filling(found: &Found) -> Option<Caveat> {
    let text =
        "throughput of writes kept falling while a cache was filled: measure later in the filling (--fill)";
    found.filling.then(|| Caveat::new("cache-filling", Severity::Doubt, text))
}

fn no_writes(plan: &CostsPlan) -> Option<Caveat> {
    let text =
        "writes were not measured and count as reads: --overwrite measures them, and destroys what is there";
    plan.writes.is_empty().then(|| Caveat::new("writes-not-measured", Severity::Doubt, text))
}

/// One object with everything.
///
/// # Errors
/// A kind of which nothing ended.
pub fn json(found: &Found, plan: &CostsPlan, caveats: &[Caveat], backing: Value) -> Result<Value> {
    let (tables, error) = found.tables()?;
    let (reads, writes) = (table_text(&tables.reads), table_text(&tables.writes));
    let kind = |(place, measured): (usize, &Measured)| {
        let cost = found.cost(place);
        object!({
            "io": if measured.kind.write { "write" } else { "read" }, "bytes": measured.kind.bytes,
            "cost": cost.map(|cost| cost.value), "standard_error": cost.map(|cost| cost.error * cost.value),
            "throughput_per_s": measured.throughputs, "ios": measured.ios, "latency_ms": 1e3 * measured.latency_s,
        })
    };
    // Those of before read their texts alone, beside the doubts about what was measured.
    let doubts = doubts(found, plan, error);
    let warnings: Vec<String> = doubts.iter().map(ToString::to_string).collect();
    let all: Vec<Caveat> = doubts.into_iter().chain(caveats.iter().cloned()).collect();
    Ok(object!({
        "cost_read": reads, "cost_write": (!writes.is_empty()).then_some(&writes),
        "outstanding": found.depth, "worst_relative_error": error, "filling": found.filling,
        "kinds": found.kinds.iter().enumerate().map(kind).collect::<Vec<_>>(),
        "warnings": warnings, "backing": backing, "seed": plan.seed.0, "caveats": Caveats(&all),
    }))
}
