//! Figures of simulated cells, and of batches made by hand.

use super::*;
use crate::random::Seed;
use crate::simulation::VirtualCell;
use crate::statistics::SpectrumCounter;
use proptest::prelude::*;

const CELL: VirtualCell =
    VirtualCell { load: 0.6, service: Nanos::from_millis(4), base: Nanos::from_secs(8) };

fn runs(cell: VirtualCell, count: u64) -> Vec<Run> {
    (0..count).map(|number| cell.run(2.0, 8.0, Seed(5).numbered(number)).unwrap()).collect()
}

/// A batch of these response times in ns.
fn batch(responses: &[u64]) -> Batch {
    let mut counter = SpectrumCounter::new();
    responses.iter().for_each(|&response| counter.record(response));
    let count = responses.len() as u64;
    let response_sum = Nanos(responses.iter().sum());
    Batch { arrivals: count, lost: 0, completed: count, response_sum, spectrum: counter.take() }
}

fn run(batches: Vec<Batch>, seconds: f64) -> Run {
    let completions = batches.iter().map(|batch| batch.completed).sum();
    Run { batches, seconds, completions }
}

#[test]
fn figures_are_those_of_all_requests_together() {
    let runs = runs(CELL, 4);
    let pooled = Pooled::of(&runs, None).unwrap();
    let requests: u64 = runs.iter().flat_map(|run| &run.batches).map(|batch| batch.spectrum.count()).sum();
    let sum: f64 = runs.iter().map(Run::response_sum_ns).sum();
    let tau = pooled.tau().unwrap();
    assert!((tau.value - sum / requests as f64).abs() < 1e-3 && tau.n == 4, "{tau:?}");
    let throughput = pooled.throughput().unwrap();
    let completions: u64 = runs.iter().map(|run| run.completions).sum();
    assert!((throughput.value - completions as f64 / 32.0).abs() < 1e-9);
    let p95 = pooled.percentile(0.95).unwrap();
    assert!(p95.bounds.low().unwrap() < p95.value && p95.value < p95.bounds.high().unwrap());
}

#[test]
fn one_run_has_figures_and_no_bounds() {
    let runs = runs(CELL, 1);
    let pooled = Pooled::of(&runs, None).unwrap();
    for figure in [pooled.tau(), pooled.percentile(0.95), pooled.throughput()].map(Option::unwrap) {
        assert_eq!((figure.bounds, figure.standard_error, figure.degrees), (Bounds::None, None, 0.0));
    }
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

#[test]
fn nothing_comes_of_runs_without_a_response() {
    assert!(Pooled::of(&[], None).is_none());
    assert!(Pooled::of(&[run(vec![Batch::default(); 20], 8.0)], None).is_none());
    assert!(Pooled::of(&[run(vec![batch(&[5]); 20], 0.0)], None).is_none());
}

#[test]
fn a_high_percentile_of_short_runs_is_bounded_by_a_lower_one() {
    let runs = runs(CELL, 3);
    let pooled = Pooled::of(&runs, None).unwrap();
    let figures = [0.95, 0.99, 0.999].map(|quantile| pooled.percentile(quantile).unwrap());
    assert!(matches!(figures[0].bounds, Bounds::TwoSided { .. }), "{figures:?}");
    let (Bounds::AtLeast(p99), Bounds::AtLeast(p999)) = (figures[1].bounds, figures[2].bounds) else {
        panic!("{figures:?}")
    };
    assert!(p999 < figures[1].value && p999 > p99 / 2.0, "{figures:?}");
}

#[test]
fn a_percentile_with_hardly_a_request_above_it_is_bounded_by_a_lower_one() {
    // 240 requests that take up to 40 ns: two of them lie above p99.2, and nobody knows p99.9.
    let runs = vec![run(vec![batch(&[10, 20, 30, 40]); 20], 8.0); 3];
    let pooled = Pooled::of(&runs, None).unwrap();
    let Bounds::AtLeast(low) = pooled.percentile(0.999).unwrap().bounds else { panic!("no bound") };
    assert!(low > 30.0 && low <= 41.0, "{low}");
    assert!(matches!(pooled.percentile(0.9).unwrap().bounds, Bounds::TwoSided { .. }));
}

#[test]
fn a_figure_in_another_unit_is_the_same_figure() {
    let figure = Figure {
        value: 4e6,
        n: 3,
        bounds: Bounds::TwoSided { low: 3e6, high: 6e6 },
        standard_error: Some(5e5),
        degrees: 4.0,
    };
    let scaled = figure.scaled(1e-6);
    assert!((scaled.value - 4.0).abs() < 1e-12 && (scaled.standard_error.unwrap() - 0.5).abs() < 1e-12);
    assert!((scaled.bounds.high().unwrap() - 6.0).abs() < 1e-12);
    assert_eq!((scaled.n, scaled.degrees), (3, 4.0));
}

proptest! {
    #[test]
    fn no_end_is_negative_or_infinite_whatever_was_measured(
        all in prop::collection::vec(prop::collection::vec(prop::collection::vec(0..1u64 << 42, 0..6), 1..21), 1..6),
        quantile in 0.01..0.999_f64,
    ) {
        let runs: Vec<Run> = all
            .iter()
            .map(|batches| run(batches.iter().map(|responses| batch(responses)).collect(), 8.0))
            .collect();
        let figures = Pooled::of(&runs, None).map(|pooled| [pooled.tau(), pooled.percentile(quantile), pooled.throughput()]);
        for figure in figures.into_iter().flatten().flatten() {
            let ends = [figure.bounds.low(), figure.bounds.high()];
            prop_assert!(ends.iter().flatten().all(|end| *end >= 0.0 && end.is_finite()), "{figure:?}");
            prop_assert!(figure.bounds.low().is_none_or(|low| low <= figure.value), "{figure:?}");
            prop_assert!(figure.bounds.high().is_none_or(|high| high >= figure.value), "{figure:?}");
        }
    }
}
