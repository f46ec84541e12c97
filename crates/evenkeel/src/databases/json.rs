//! Runs and what they come to, as lines of JSON.

use super::outcome::{Cell, Spread, cells};
use super::record::{Figures, Run, Setting};
use super::{NAMES, SHARES};
use serde_json::{Value, json};

/// A run.
pub fn run(setting: &Setting, run: &Run) -> Value {
    let host = |place: usize| {
        let figures = &run.hosts[place];
        json!({
            "name": NAMES[place],
            "share": SHARES[place],
            "orders_per_minute": figures.orders_per_minute,
            "standard_error": figures.standard_error,
            "response_ms": figures.response_ms,
            "rolled_back": figures.rolled_back,
            "lost": figures.lost,
            "ios_per_s": figures.ios_per_s,
            "latency_ms": figures.latency_ms,
            "window": figures.window,
            "wanted": figures.wanted,
            "outstanding": figures.outstanding,
            "beta": figures.beta,
        })
    };
    json!({
        "way": run.key.way.name(),
        "most_window": run.key.most,
        "round": run.key.round,
        "hosts": [host(0), host(1)],
        "ratio": run.ratio(),
        "lull": run.eased(setting).map(|eased| json!({ "opened": eased.opened, "beta": eased.beta })),
        "caveats": run.caveats,
    })
}

/// What all runs come to.
pub fn summary(id: &str, setting: &Setting, runs: &[Run]) -> Value {
    json!({
        "study": id,
        "setting": {
            "clients": setting.clients, "warm_up_s": setting.warm_up_s, "duration_s": setting.duration_s,
            "lull_s": setting.lull_s,
            "size": setting.size, "rounds": setting.rounds, "period_s": setting.period_s, "seed": setting.seed,
        },
        "cells": cells(setting, runs).iter().map(cell).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell<'_>) -> Value {
    let both = |figure: fn(&Figures) -> f64| [0, 1].map(|host| cell.figure(host, figure).map(spread));
    json!({
        "way": cell.way.name(),
        "most_window": cell.most,
        "rounds": cell.runs.len(),
        "ratio": cell.ratio().map(spread),
        "ratio_published": cell.published().map(|published| published.ratio()),
        "bound_by": cell.bound().map(|bound| bound.to_string()),
        "total_kept": cell.kept().map(spread),
        "orders_per_minute": both(|host| host.orders_per_minute),
        "response_ms": both(|host| host.response_ms),
        "ios_per_s": both(|host| host.ios_per_s),
        "latency_ms": both(|host| host.latency_ms.unwrap_or(f64::NAN)),
    })
}

fn spread(spread: Spread) -> Value {
    json!({ "median": spread.median, "low": spread.low, "high": spread.high })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use evenkeel_core::share::experiment::Treatment as Way;

    #[test]
    fn the_summary_has_a_cell_for_each_way_beside_what_was_published() {
        let runs = [
            fixture::run(Way::Uncontrolled, 32, 1, [1_000.0, 1_000.0]),
            fixture::run(Way::Parda, 32, 1, [800.0, 1_600.0]),
        ];
        let summary = summary("shares-1", &fixture::setting(), &runs);
        let parda = &summary["cells"][1];
        assert_eq!(
            (parda["ratio"]["median"].as_f64(), parda["total_kept"]["low"].as_f64()),
            (Some(2.0), Some(1.2))
        );
        assert!(parda["ratio_published"].as_f64().is_some_and(|ratio| (ratio - 1.777).abs() < 0.001));
        assert_eq!(parda["bound_by"], "neither");
        assert_eq!(run(&fixture::setting(), &runs[1])["hosts"][1]["share"], 4.0);
    }

    #[test]
    fn a_host_without_orders_has_no_ratio() {
        let run = run(&fixture::setting(), &fixture::run(Way::Parda, 32, 1, [0.0, 10.0]));
        assert_eq!((&run["ratio"], &run["lull"]), (&Value::Null, &Value::Null));
    }
}
