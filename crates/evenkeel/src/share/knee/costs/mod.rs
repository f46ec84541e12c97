//! What I/Os cost, measured: full storage does so many of each kind in a second.
//!
//! First the depth at which the storage is full is found with reads of 16 KB; all kinds are measured at it, in rounds that
//! take them by turns, until their means are known well enough. Reads come first. Writes come after the cache in front of the
//! storage is full: while it has room they cost nothing, and what they cost is paid by whoever comes later.

mod course;

use crate::config::costs::text as table_text;
use crate::format::{fixed, percent, significant};
use crate::share::knee::label;
use crate::table::{GridColumn, Look, lines};
use anyhow::Result;
pub use course::{CostsPlan, measure};
use course::{Found, Measured, name};
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::share::knee::RISE_MOST;
use evenkeel_study::store::Caveats;
use serde_json::{Value, json as object};

/// The table, the lines of a file that take it over, and the doubts.
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

#[cfg(test)]
mod tests {
    use super::course::{Found, Measured, UNIT};
    use super::*;
    use crate::share::knee::client::Kind;
    use crate::table::Look;
    use evenkeel_core::Nanos;
    use evenkeel_core::random::Seed;
    use evenkeel_core::share::{ArrayPlan, Cache, Cost, Costs, Io, Service};
    use evenkeel_os::Stop;
    use evenkeel_share::backing::simulated::{self, Simulated};
    use evenkeel_share::backing::{FileBacking, FileOptions};
    use evenkeel_share::{DiskPlan, Engine, Plan};
    use std::fs::File;

    const BYTES: u64 = 64 << 20;

    fn array(cache: Option<Cache>) -> ArrayPlan {
        let cost = Cost { per_byte: 7.0 / (240.0 * 1_024.0), write: 4.0 };
        ArrayPlan { spindles: 2, mean_s: 0.001, service: Service::Uniform(0.2), cost, cache }
    }

    fn plan(writes: &[u32]) -> CostsPlan {
        CostsPlan {
            reads: vec![4_096, 65_536],
            writes: writes.to_vec(),
            depth_most: 32,
            step: Nanos::from_millis(60),
            rounds: 4,
            error: 0.05,
            limit: Nanos::from_secs(20),
            fill: Nanos::from_millis(200),
            seed: Seed(1),
        }
    }

    fn measured(array: &ArrayPlan, plan: &CostsPlan, stop: &Stop) -> Option<Found> {
        let folder = tempfile::tempdir().unwrap();
        let (file, sim) = (folder.path().join("file"), folder.path().join("sim"));
        File::create(&file).unwrap().set_len(BYTES).unwrap();
        simulated::create(&sim, array).unwrap();
        let bytes = Box::new(FileBacking::open(&file, FileOptions::default()).unwrap());
        let backing = Box::new(Simulated::open(&sim, bytes, Seed(1)).unwrap());
        let disks = vec![DiskPlan { name: "disk".to_owned(), shares: 1.0, backing }];
        let engine = Plan { disks, window: f64::INFINITY, costs: Costs::default(), memory: 0 };
        let engine = Engine::start(engine).unwrap();
        let found = measure((engine.handle(), BYTES), plan, stop, &mut |_| {}).unwrap();
        engine.stop().unwrap();
        found
    }

    /// Measurements, of which one at least has to be undisturbed: one in which the machine stood still may be off by anything.
    const TRIES: usize = 5;

    /// Costs near those of the array. A machine that stands still again and again measures costs that are a little off, and never by as
    /// much as they differ here; how far off they are on a usual one is for `bench/costs` to say.
    fn measured_near(array: &ArrayPlan) -> Found {
        let tries = (0..TRIES).map(|_| {
            let found = measured(array, &plan(&[16_384]), &Stop::default()).unwrap();
            far_off(&found, array).map_or(Ok(found), Err)
        });
        let mut told = Vec::new();
        for outcome in tries {
            match outcome {
                Ok(found) => return found,
                Err(far) => told.push(far),
            }
        }
        panic!("{told:?}")
    }

    /// A kind whose cost is off by more than a third.
    fn far_off(found: &Found, array: &ArrayPlan) -> Option<String> {
        found.kinds.iter().enumerate().find_map(|(place, measured)| {
            let Kind { bytes, write } = measured.kind;
            let (cost, truth) = (found.cost(place).unwrap().value, array.cost.of(Io { bytes, write }));
            ((cost / truth).ln().abs() >= 0.3).then(|| format!("{:?}: {cost} of {truth}", measured.kind))
        })
    }

    #[test]
    fn costs_of_reads_and_writes_are_those_of_the_array() {
        let array = array(None);
        let found = measured_near(&array);
        let kinds: Vec<(u32, bool)> = found.kinds.iter().map(|m| (m.kind.bytes, m.kind.write)).collect();
        assert_eq!(kinds, [(4_096, false), (16_384, false), (65_536, false), (16_384, true)]);
        assert!(found.tables().unwrap().0.costs().is_ok());
        let drawn = text(&found, &plan(&[16_384]), &[], Look { width: 100, colour: false }).unwrap();
        assert!(drawn.contains("[costs]\nread = \"4k=") && drawn.contains("\nwrite = \"16k="), "{drawn}");
        assert!(
            json(&found, &plan(&[16_384]), &[], serde_json::Value::Null).unwrap()["cost_read"].is_string()
        );
    }

    #[test]
    fn a_write_behind_a_cache_costs_what_the_spindles_take_for_it() {
        let array = array(Some(Cache { answer_s: 0.000_1, behind_s: 0.05, flush_s: 0.001 }));
        measured_near(&array);
    }

    #[test]
    fn who_does_not_measure_writes_is_told_so_and_who_stops_has_nothing() {
        let array = array(None);
        let stopped = Stop::default();
        stopped.set();
        assert_eq!(measured(&array, &plan(&[]), &stopped), None);
        let unit = Measured { kind: UNIT, throughputs: vec![100.0, 101.0], latency_s: 0.01, ios: 9 };
        let found = Found { depth: 8, kinds: vec![unit], rise: 0.5, filling: true };
        let drawn = text(&found, &plan(&[]), &[], Look { width: 100, colour: false }).unwrap();
        for expected in ["writes were not measured", "still rises", "--fill", "read = \"16k=1\"\n"] {
            assert!(drawn.contains(expected), "{expected} is missing in {drawn}");
        }
    }
}
