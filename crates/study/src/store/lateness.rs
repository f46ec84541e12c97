//! Whether a generator was too late is said by the response time of the cell, not by that of its own run.
//!
//! Held against the run's own mean response time, of two runs with the same lag the faster one alone would be left out, and what
//! remains would be slower than the server is.

use super::run::RunFile;
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;

/// Judges the lag of every run anew, by the median of the mean response times of all runs of its cell. What a run says of its lag
/// otherwise stays, as where it was not measured.
pub(crate) fn judge(runs: &mut [RunFile]) {
    let medians: Vec<Option<f64>> = runs.iter().map(|run| median_of_cell(runs, run.cell)).collect();
    for (run, tau_ms) in runs.iter_mut().zip(medians) {
        let (Some(lag), Some(tau_ms)) = (run.lag.measured().map(|lag| lag.mean_ms), tau_ms) else { continue };
        let nanos = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
        let found = Caveat::lag(nanos(lag), nanos(tau_ms));
        let place = run.caveats.iter().position(|caveat| caveat.code == "lag-too-large");
        match (place, found) {
            (Some(place), Some(found)) => run.caveats[place] = found,
            (Some(place), None) => drop(run.caveats.remove(place)),
            (None, Some(found)) => run.caveats.insert(0, found),
            (None, None) => {}
        }
    }
}

/// In milliseconds; `None` where no run of the cell has an answer.
fn median_of_cell(runs: &[RunFile], cell: u32) -> Option<f64> {
    let of_cell = runs.iter().filter(|run| run.cell == cell);
    let mut taus: Vec<f64> = of_cell.filter_map(|run| Some(run.response.measured()?.mean_ms)).collect();
    taus.sort_by(f64::total_cmp);
    taus.get(taus.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::TimesRecord;

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
    fn a_verdict_that_was_stored_gives_way_and_one_without_a_lag_stays() {
        let stored = Caveat::lag(Nanos::from_millis(3), Nanos::from_millis(20)).unwrap();
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
