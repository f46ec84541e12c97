//! Costs of a simulated array of which the measurement knows nothing.

use super::figures::{Found, Measured, UNIT};
use super::*;
use crate::share::knee::client::Kind;
use crate::table::Look;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::share::{ArrayPlan, Cache, Cost, Costs, Io, Service};
use evenkeel_os::stop::Stop;
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
    assert!(json(&found, &plan(&[16_384]), &[], serde_json::Value::Null).unwrap()["cost_read"].is_string());
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
