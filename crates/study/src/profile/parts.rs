//! From what the load saw of the parts of response times to the record of a run, and to figures over runs.

use super::figures::estimate_record;
use crate::store::format::{EstimateRecord, PartMeansRecord, PartsRecord, RunFile};
use evenkeel_core::statistics::{ErrorBar, Estimate, Sample, difference, normal_quantile};
use evenkeel_lab::load::{Noted, PartsPlan, PartsResult};

/// What stands in the file of a run.
pub(super) fn record(plan: &PartsPlan, found: &PartsResult) -> PartsRecord {
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
pub(super) fn figures(run: &RunFile) -> Vec<(&'static str, f64)> {
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
        RunFile { parts: Some(record(&PLAN, found)), ..RunFile::default() }
    }

    #[test]
    fn a_run_tells_its_parts_by_name_and_they_add_up() {
        let run = run(&found());
        let parts = run.parts.as_ref().unwrap();
        assert_eq!((parts.drawn, parts.told, parts.means.unwrap().noted_percent), (3, 2, 75.0));
        let figures = figures(&run);
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
        assert!(figures(&run(&found)).iter().all(|(name, _)| *name != "request_price_ms"));
        assert!(price_over(&[run(&found)]).is_none());
        let nothing = PartsResult { drawn: 4, ..PartsResult::default() };
        assert!(figures(&run(&nothing)).is_empty() && figures(&RunFile::default()).is_empty());
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
