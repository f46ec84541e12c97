//! A study for programs: verdicts, cells with their spread, steps.

use super::record::{PlanFile, PointFile, StepFile};
use super::summary::{Cell, cells, known};
use super::verdict::{Verdict, verdicts};
use super::words;
use evenkeel_core::statistics::Ratio;
use serde_json::{Map, Value, json};

/// The whole of it.
pub fn results(plan: &PlanFile, points: &[PointFile], steps: &[StepFile]) -> Value {
    let verdicts = verdicts(points);
    json!({
        "study": "throttling",
        "id": plan.id,
        "plan": plan,
        "headline": words::headline(&verdicts, points),
        "published": {"finding": words::PUBLISHED, "on": words::SOURCE},
        "verdicts": verdicts.iter().map(verdict).collect::<Vec<_>>(),
        "cells": cells(points).iter().map(|cell| of_cell(cell, points)).collect::<Vec<_>>(),
        "steps": steps,
        "caveats": words::caveats(plan, points, steps),
    })
}

fn verdict(verdict: &Verdict) -> Value {
    let fall = verdict.fall.as_ref().map(|fall| {
        json!({
            "best_clients": fall.best.0, "best_per_s": fall.best.1,
            "highest_clients": fall.highest.0, "highest_per_s": fall.highest.1,
            "fall_percent": fall.percent, "low": fall.interval.map(|(low, _)| low),
            "high": fall.interval.map(|(_, high)| high), "runs": fall.runs, "shown": fall.is_shown(),
        })
    });
    let held = verdict.held.iter().map(|held| {
        let mut of = ratio(&held.ratio);
        of.insert("way".to_owned(), json!(held.way));
        of.insert("limit_mean".to_owned(), json!(held.limit));
        of.insert("unsettled".to_owned(), json!(held.unsettled));
        Value::Object(of)
    });
    let growth = verdict.growth.iter().map(|growth| {
        json!({"figure": growth.key, "from": growth.from, "to": growth.to, "factor": growth.factor()})
    });
    json!({
        "load": verdict.load, "fall": fall, "held": held.collect::<Vec<_>>(), "growth": growth.collect::<Vec<_>>(),
        "cost": verdict.cost().map(|cost| json!({"figure": cost.key, "is_overhead": cost.is_overhead()})),
        "lock_wait_percent_max": verdict.lock_wait_percent,
        "doubles_without_locks": verdict.doubles_without_locks(),
        "sentences": words::sentences(verdict),
    })
}

fn ratio(ratio: &Ratio) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("ratio".to_owned(), json!(ratio.ratio));
    map.insert("low".to_owned(), json!(ratio.interval.map(|(low, _)| low)));
    map.insert("high".to_owned(), json!(ratio.interval.map(|(_, high)| high)));
    map
}

fn of_cell(cell: &Cell<'_>, points: &[PointFile]) -> Value {
    let mut figures = Map::new();
    for figure in known(&cells(points), cell.load) {
        let value = cell.estimate(figure).map(|estimate| {
            json!({"n": estimate.n, "mean": estimate.mean, "se": estimate.standard_error(),
                   "low": estimate.low(), "high": estimate.high()})
        });
        figures.insert(figure.key.to_owned(), json!(value));
    }
    let settling: Vec<_> = cell.runs.iter().filter_map(|run| run.settling).collect();
    json!({
        "load": cell.load, "way": cell.way, "clients": cell.clients, "runs": cell.runs.len(), "figures": figures,
        "settled": cell.settled(), "settling": settling,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{falling, plan, steps};
    use super::*;

    #[test]
    fn a_program_finds_the_verdict_and_every_cell() {
        let value = results(&plan(), &falling(), &steps());
        assert_eq!(value["verdicts"][0]["fall"]["shown"], true);
        assert_eq!(value["cells"].as_array().map(Vec::len), Some(12));
        assert_eq!(value["cells"][0]["figures"]["throughput_per_s"]["n"], 3);
        // What was not available is absent, never zero.
        assert!(value["cells"][0]["figures"].get("dtlb_misses_per_commit").is_none());
        let of = |way: &str, clients: u32| {
            let cells = value["cells"].as_array().unwrap();
            cells.iter().find(|cell| cell["way"] == way && cell["clients"] == clients).unwrap().clone()
        };
        assert_eq!(
            (of("reflection", 8)["settled"].clone(), of("reflection", 64)["settled"].clone()),
            (json!(3), json!(0))
        );
        assert_eq!(of("reflection", 64)["settling"][0]["waited_s"], 600.0);
        assert!(of("evenkeel", 64)["settled"].is_null());
        assert_eq!(value["steps"].as_array().map(Vec::len), Some(3));
    }
}
