//! From what a run recorded to its figures: conversions, no judgement.

use crate::store::format::{EstimateRecord, KindRecord, PerMinuteRecord, TimesRecord};
use evenkeel_core::Nanos;
use evenkeel_core::statistics::{BATCHES, BatchMeans, Estimate};
use evenkeel_lab::load::{KindResult, LoadResult};
use hdrhistogram::Histogram;

/// A histogram of nanoseconds as milliseconds. `sum` is the exact sum of its values where it is known;
/// otherwise the mean is the histogram's own, good to three digits.
pub fn times(histogram: &Histogram<u64>, sum: Option<Nanos>) -> TimesRecord {
    let quantile = |q: f64| histogram.value_at_quantile(q) as f64 / 1e6;
    let count = histogram.len();
    if count == 0 {
        return TimesRecord::default();
    }
    let mean_ms = sum.map_or_else(|| histogram.mean() / 1e6, |sum| sum.as_millis_f64() / count as f64);
    TimesRecord {
        count,
        mean_ms,
        p50_ms: quantile(0.50),
        p90_ms: quantile(0.90),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        p999_ms: quantile(0.999),
        max_ms: histogram.max() as f64 / 1e6,
    }
}

/// Kinds of requests, or statements, for the store.
pub fn kinds(results: &[KindResult]) -> Vec<KindRecord> {
    let record = |kind: &KindResult| KindRecord {
        name: kind.name.clone(),
        completed: kind.completed,
        lost: kind.lost,
        times: times(&kind.response, None),
    };
    results.iter().filter(|kind| kind.completed + kind.lost > 0).map(record).collect()
}

/// Completed orders per minute of the measured phase, with their spread over its stretches; `None` where requests are
/// not made of steps, as orders are. Orders that were rolled back count, as the benchmark has it.
pub fn orders_per_minute(load: &LoadResult) -> Option<PerMinuteRecord> {
    if load.steps.is_empty() {
        return None;
    }
    let length = load.interval_length;
    let whole: Vec<u64> = load
        .intervals
        .iter()
        .filter(|interval| interval.start + length <= load.measured)
        .map(|interval| interval.completed)
        .collect();
    let stretches = BATCHES.min(whole.len());
    let cut = |place: usize| place * whole.len() / stretches.max(1);
    let per_minute = |from: usize, to: usize| {
        60.0 * whole[from..to].iter().sum::<u64>() as f64 / ((to - from) as f64 * length.as_secs_f64())
    };
    let rates: Vec<f64> = (0..stretches).map(|place| per_minute(cut(place), cut(place + 1))).collect();
    let pairs: Vec<(u64, f64)> = rates.iter().map(|&rate| (1, rate)).collect();
    let spread = BatchMeans::of(&pairs, stretches)?;
    Some(PerMinuteRecord {
        mean: per_minute(0, whole.len()),
        se: spread.mean.standard_error(),
        lowest: rates.iter().copied().fold(f64::INFINITY, f64::min),
        highest: rates.iter().copied().fold(0.0, f64::max),
        stretches: u32::try_from(stretches).unwrap_or(u32::MAX),
        stretch_s: whole.len() as f64 * length.as_secs_f64() / stretches as f64,
    })
}

/// Mean, standard error and interval over runs, for the store.
pub fn estimate(values: &[f64]) -> EstimateRecord {
    Estimate::of(values).as_ref().map_or_else(EstimateRecord::default, estimate_record)
}

pub fn estimate_record(estimate: &Estimate) -> EstimateRecord {
    EstimateRecord {
        n: u32::try_from(estimate.n).unwrap_or(u32::MAX),
        mean: estimate.mean,
        se: estimate.standard_error(),
        low: estimate.low(),
        // Without an upper end it is a lower bound, as the store has it.
        high: estimate.high().filter(|high| high.is_finite()),
        degrees: estimate.error.map(|_| (estimate.n.saturating_sub(1)) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_the_exact_mean() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for millis in 1..=100_u64 {
            histogram.record(millis * 1_000_000).unwrap();
        }
        let record = times(&histogram, Some(Nanos::from_millis(5_050)));
        assert_eq!(record.mean_ms, 50.5);
        assert!((record.p50_ms - 50.0).abs() < 0.1, "{}", record.p50_ms);
        assert!((record.p99_ms - 99.0).abs() < 0.1, "{}", record.p99_ms);
        assert_eq!(record.count, 100);
    }
}
