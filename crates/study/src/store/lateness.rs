//! Whether a generator was too late is said by the response time of the cell, not by that of its own run.
//!
//! Held against the run's own mean response time, of two runs with the same lag the faster one alone would be left out, and what
//! remains would be slower than the server is.

use super::run::RunFile;
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;
use std::collections::BTreeMap;

/// Judges the lag of every run anew, by the median of the mean response times of all runs of its cell. What a run says of its lag
/// otherwise stays, as where it was not measured.
pub(crate) fn judge(runs: &mut [RunFile]) {
    let mut taus: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in runs.iter() {
        taus.entry(run.cell).or_default().extend(run.response.measured().map(|response| response.mean_ms));
    }
    let medians: BTreeMap<u32, f64> =
        taus.into_iter().filter_map(|(cell, taus)| Some((cell, median(taus)?))).collect();
    for run in runs {
        let lag = run.lag.measured().map(|lag| lag.mean_ms);
        let (Some(lag), Some(&tau_ms)) = (lag, medians.get(&run.cell)) else { continue };
        let nanos = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
        let found = Caveat::lag(nanos(lag), nanos(tau_ms), run.stability_sent.is_some());
        let place = run.caveats.iter().position(|caveat| caveat.code == "lag-too-large");
        if let Some(place) = place {
            run.caveats.remove(place);
        }
        if let Some(found) = found {
            run.caveats.insert(place.unwrap_or(0), found);
        }
    }
}

/// The upper one of the two in the middle; `None` of none.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::TimesRecord;
    use evenkeel_core::caveat::Severity;

    fn run(cell: u32, lag_ms: f64, tau_ms: f64) -> RunFile {
        let times = |ms: f64| TimesRecord { count: 9, mean_ms: ms, p99_ms: ms, ..TimesRecord::default() };
        RunFile { cell, lag: times(lag_ms), response: times(tau_ms), ..RunFile::default() }
    }

    fn late(runs: &[RunFile]) -> Vec<bool> {
        runs.iter().map(|run| run.caveats.iter().any(|caveat| caveat.code == "lag-too-large")).collect()
    }

    #[test]
    fn of_runs_with_the_same_lag_the_fast_ones_do_not_fall_out_alone() {
        // 5 % of 10 ms are tolerated; of its own 8 ms the first run would be left out.
        let mut runs = vec![run(1, 0.45, 8.0), run(1, 0.45, 10.0), run(1, 0.45, 12.0), run(2, 0.45, 8.0)];
        judge(&mut runs);
        assert_eq!(late(&runs), [false, false, false, true]);
        let mut runs = vec![run(1, 0.55, 8.0), run(1, 0.55, 10.0), run(1, 0.55, 12.0)];
        judge(&mut runs);
        assert_eq!(late(&runs), [true, true, true]);
    }

    #[test]
    fn a_late_run_is_set_aside_only_where_its_verdict_depends_on_it() {
        let decided = |lag_ms: f64| RunFile {
            stability_sent: Some(crate::store::format::Verdict::Settled),
            stability: crate::store::format::Verdict::Unstable,
            ..run(1, lag_ms, 10.0)
        };
        let mut runs = vec![run(1, 4.8, 10.0), decided(4.8), decided(0.25), decided(0.15)];
        judge(&mut runs);
        let severities: Vec<_> =
            runs.iter().map(|run| run.caveats.first().map(|caveat| caveat.severity)).collect();
        let (doubt, invalid) = (Some(Severity::Doubt), Some(Severity::Invalid));
        assert_eq!(severities, [doubt, invalid, invalid, None]);
    }

    #[test]
    fn a_verdict_that_was_stored_gives_way_and_one_without_a_lag_stays() {
        let stored = Caveat::lag(Nanos::from_millis(3), Nanos::from_millis(20), true).unwrap();
        let mut runs = vec![run(1, 0.3, 6.0), run(1, 0.3, 20.0), run(1, 0.3, 20.0)];
        runs[0].caveats.push(stored.clone());
        judge(&mut runs);
        assert_eq!(late(&runs), [false; 3]);
        let mut old =
            vec![RunFile { lag: TimesRecord::default(), caveats: vec![stored], ..run(1, 0.0, 6.0) }];
        judge(&mut old);
        assert_eq!(late(&old), [true]);
        judge(&mut []);
    }
}
