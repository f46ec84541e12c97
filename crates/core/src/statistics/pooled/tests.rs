//! Figures of batches made by hand; those of simulated cells are tried in `dev`.

use super::*;
use crate::statistics::SpectrumCounter;
use proptest::prelude::*;

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
fn nothing_comes_of_runs_without_a_response() {
    assert!(Pooled::of(&[], None).is_none());
    assert!(Pooled::of(&[run(vec![Batch::default(); 20], 8.0)], None).is_none());
    assert!(Pooled::of(&[run(vec![batch(&[5]); 20], 0.0)], None).is_none());
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
