//! From what a run recorded to its figures: conversions, no judgement.

use crate::store::format::{
    EstimateRecord, KindRecord, PartMeansRecord, PartsRecord, PerMinuteRecord, RunFile, TimesRecord,
};
use evenkeel_core::Nanos;
use evenkeel_core::statistics::{
    BATCHES, BatchMeans, ErrorBar, Estimate, Sample, difference, normal_quantile,
};
use evenkeel_lab::load::{KindResult, LoadResult, Noted, PartsPlan, PartsResult};
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

/// What stands in the file of a run.
pub(super) fn parts_record(plan: &PartsPlan, found: &PartsResult) -> PartsRecord {
    PartsRecord {
        share_percent: 100.0 * plan.share,
        drawn: found.drawn,
        told: found.response.n(),
        means: means(found),
        price_ms: price(found).map(|price| estimate_record(&price)),
    }
}

fn means(found: &PartsResult) -> Option<PartMeansRecord> {
    let Noted { by_kernel, by_thread } = found.noted;
    // Known of some requests alone it would not be a part of the mean of all.
    let all_known = found.server_waking.n() == found.response.n();
    let server_waking = found.server_waking.mean().unwrap_or(0.0);
    let known_share = found.server_waking.n() as f64 / found.response.n().max(1) as f64;
    let back = if all_known { 0.0 } else { server_waking * known_share };
    Some(PartMeansRecord {
        response_ms: found.response.mean()?,
        before_ms: found.before.mean()?,
        network_ms: found.network.mean()? + back,
        waking_ms: found.waking.mean()?,
        server_waking_ms: found.server_waking.mean().filter(|_| all_known),
        execution_ms: found.execution.mean()?,
        question_ms: found.question.mean()?,
        noted_percent: 100.0 * by_kernel as f64 / (by_kernel + by_thread).max(1) as f64,
    })
}

/// Requests are drawn one by one, so that neighbours in a queue stand on both sides alike and the two means differ by chance as if
/// all were independent.
fn price(found: &PartsResult) -> Option<Estimate> {
    let (drawn, others) = &found.compared;
    let degrees = |sample: &Sample| sample.n().saturating_sub(1) as f64;
    let (one, other) = (drawn.estimate()?, others.estimate()?);
    Some(difference(&one, &other, (degrees(drawn), degrees(others)))).filter(|price| price.error.is_some())
}

/// Figures of one run by name.
pub(super) fn parts_figures(run: &RunFile) -> Vec<(&'static str, f64)> {
    let Some(parts) = &run.parts else { return Vec::new() };
    let means = |of: fn(&PartMeansRecord) -> f64| parts.means.as_ref().map(of);
    let values = [
        ("request_before_ms", means(|means| means.before_ms)),
        ("request_network_ms", means(|means| means.network_ms)),
        ("request_waking_ms", means(|means| means.waking_ms)),
        ("request_server_waking_ms", parts.means.and_then(|means| means.server_waking_ms)),
        ("request_execution_ms", means(|means| means.execution_ms)),
        ("request_mu_ms", means(PartMeansRecord::mu_ms)),
        ("request_price_ms", parts.price_ms.as_ref().map(|price| price.mean)),
        ("request_question_ms", means(|means| means.question_ms)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// What being asked about costs a request, over all runs: each counts by how sharply it tells it.
pub fn price_over(runs: &[RunFile]) -> Option<EstimateRecord> {
    let prices = runs.iter().filter_map(|run| run.parts.as_ref()?.price_ms.as_ref());
    let sharp = prices.filter_map(|price| Some((price.mean, price.se.filter(|se| *se > 0.0)?, price.n)));
    let (mut weights, mut sum, mut n) = (0.0, 0.0, 0_u64);
    for (mean, se, count) in sharp {
        let weight = 1.0 / (se * se);
        (weights, sum, n) = (weights + weight, sum + weight * mean, n + u64::from(count));
    }
    let (mean, standard_error) = (sum / weights, 1.0 / f64::sqrt(weights));
    // Hundreds of requests stand behind each.
    let half = normal_quantile(0.975) * standard_error;
    let error = Some(ErrorBar { standard_error, low: mean - half, high: mean + half });
    (weights > 0.0).then(|| estimate_record(&Estimate { n, mean, error }))
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

    const PLAN: PartsPlan = PartsPlan { share: 0.05, server_pid: None };

    fn sample(values: &[f64]) -> Sample {
        values.iter().copied().collect()
    }

    fn found() -> PartsResult {
        PartsResult {
            drawn: 3,
            response: sample(&[10.0, 12.0]),
            before: sample(&[1.0, 1.0]),
            network: sample(&[3.0, 5.0]),
            waking: sample(&[0.5, 0.5]),
            server_waking: sample(&[0.5, 0.5]),
            execution: sample(&[5.0, 5.0]),
            compared: (sample(&[10.0, 12.0, 11.0]), sample(&[9.0, 11.0, 10.0, 10.0])),
            question: sample(&[0.1, 0.1]),
            noted: Noted { by_kernel: 3, by_thread: 1 },
        }
    }

    fn run(found: &PartsResult) -> RunFile {
        RunFile { parts: Some(parts_record(&PLAN, found)), ..RunFile::default() }
    }

    #[test]
    fn a_run_tells_its_parts_by_name_and_they_add_up() {
        let run = run(&found());
        let parts = run.parts.as_ref().unwrap();
        assert_eq!((parts.drawn, parts.told, parts.means.unwrap().noted_percent), (3, 2, 75.0));
        let figures = parts_figures(&run);
        let of = |name: &str| figures.iter().find(|(known, _)| *known == name).unwrap().1;
        assert_eq!((of("request_network_ms"), of("request_mu_ms")), (4.0, 5.0));
        let sum = of("request_before_ms") + of("request_mu_ms") + of("request_execution_ms");
        assert_eq!(sum, parts.means.unwrap().response_ms);
        let price = parts.price_ms.as_ref().unwrap();
        assert!(price.mean == 1.0 && price.low < Some(0.0) && price.high > Some(2.0), "{price:?}");
    }

    #[test]
    fn what_the_servers_thread_waited_stays_in_the_network_where_it_is_known_of_some_alone() {
        let mut found = found();
        found.server_waking = sample(&[0.5]);
        let means = run(&found).parts.unwrap().means.unwrap();
        assert_eq!((means.server_waking_ms, means.network_ms), (None, 4.25));
    }

    #[test]
    fn a_run_in_which_all_requests_are_drawn_has_no_price_and_one_that_was_told_nothing_no_parts() {
        let mut found = found();
        found.compared.1 = Sample::new();
        assert!(parts_figures(&run(&found)).iter().all(|(name, _)| *name != "request_price_ms"));
        assert!(price_over(&[run(&found)]).is_none());
        let nothing = PartsResult { drawn: 4, ..PartsResult::default() };
        assert!(parts_figures(&run(&nothing)).is_empty() && parts_figures(&RunFile::default()).is_empty());
    }

    #[test]
    fn the_price_over_runs_goes_by_the_sharper_one() {
        let sharp = run(&found());
        let mut dull = sharp.clone();
        let price = dull.parts.as_mut().unwrap().price_ms.as_mut().unwrap();
        (price.mean, price.se) = (100.0, price.se.map(|se| 100.0 * se));
        let over = price_over(&[sharp.clone(), dull]).unwrap();
        assert!((over.mean - 1.0).abs() < 0.02 && over.se < sharp.parts.unwrap().price_ms.unwrap().se);
    }
}
