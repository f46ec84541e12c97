//! Pooled figures of cells on a queue.

use crate::simulation::VirtualCell;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::statistics::pooled::{Bounds, Pooled, Run, TWO_SIDED};

const CELL: VirtualCell =
    VirtualCell { load: 0.6, service: Nanos::from_millis(4), base: Nanos::from_secs(8) };

fn runs(cell: VirtualCell, count: u64) -> Vec<Run> {
    (0..count).map(|number| cell.run(2.0, 8.0, Seed(5).numbered(number)).unwrap()).collect()
}

#[test]
fn figures_are_those_of_all_requests_together() {
    let runs = runs(CELL, 4);
    let pooled = Pooled::of(&runs, None).unwrap();
    let requests: u64 = runs.iter().flat_map(|run| &run.batches).map(|batch| batch.spectrum.count()).sum();
    let sum: f64 = runs.iter().flat_map(|run| &run.batches).map(|batch| batch.response_sum.0 as f64).sum();
    let tau = pooled.tau().unwrap();
    assert!((tau.value - sum / requests as f64).abs() < 1e-3 && tau.n == 4, "{tau:?}");
    let throughput = pooled.throughput().unwrap();
    let completions: u64 = runs.iter().map(|run| run.completions).sum();
    assert!((throughput.value - completions as f64 / 32.0).abs() < 1e-9);
    let p95 = pooled.percentile(0.95).unwrap();
    assert!(p95.bounds.low().unwrap() < p95.value && p95.value < p95.bounds.high().unwrap());
}

#[test]
fn runs_that_are_short_for_their_queue_have_a_lower_bound_of_the_response_and_an_interval_of_the_throughput()
{
    let runs = runs(VirtualCell { load: 0.95, ..CELL }, 5);
    let pooled = Pooled::of(&runs, None).unwrap();
    assert!(pooled.relaxations() < TWO_SIDED, "{}", pooled.relaxations());
    assert!(matches!(pooled.tau().unwrap().bounds, Bounds::AtLeast(_)));
    assert!(matches!(pooled.percentile(0.95).unwrap().bounds, Bounds::AtLeast(_)));
    assert!(matches!(pooled.throughput().unwrap().bounds, Bounds::TwoSided { .. }));
}
