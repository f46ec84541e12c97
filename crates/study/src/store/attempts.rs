//! How runs stand beside others: which of several attempts at a run stands, and whether a generator was too late.

use super::format::{AttemptRecord, RunFile};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::Caveat;
use evenkeel_core::disturbance::Disturbance;
use std::collections::BTreeMap;

/// A run as it was measured once, perhaps one of several times; that which was least disturbed stands for it.
pub trait Attempt: Sized {
    /// Whether both are of the same run.
    fn is_same_run(&self, other: &Self) -> bool;

    /// Its number among the attempts at its run, from 1.
    fn attempt(&self) -> u32;

    fn disturbance(&self) -> Disturbance;

    fn attempts_set_aside(&self) -> usize;

    fn set_aside(&mut self, other: Self);

    /// Brings runs into their order, whatever it is.
    fn sort(runs: &mut [Self]);
}

impl RunFile {
    /// What reached the run from outside.
    pub fn disturbance(&self) -> Disturbance {
        Disturbance { steal: self.steal_percent(), other_load: self.other_load_percent }
    }

    /// Stolen time of the server's CPUs; where these do not tell, of the machine.
    pub fn steal_percent(&self) -> Option<f64> {
        let own = self.theta.as_ref().and_then(|theta| theta.steal_percent);
        own.or(self.sense.get("host_steal_percent").copied())
    }

    fn attempt_record(&self) -> AttemptRecord {
        let Disturbance { steal, other_load } = self.disturbance();
        AttemptRecord {
            attempt: self.attempt,
            steal_percent: steal,
            other_load_percent: other_load,
            tau_ms: self.response.measured().map(|times| times.mean_ms),
        }
    }
}

impl AttemptRecord {
    /// What reached the attempt from outside.
    pub fn disturbance(&self) -> Disturbance {
        Disturbance { steal: self.steal_percent, other_load: self.other_load_percent }
    }
}

impl Attempt for RunFile {
    fn is_same_run(&self, other: &Self) -> bool {
        (self.cell, self.repeat) == (other.cell, other.repeat)
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn disturbance(&self) -> Disturbance {
        self.disturbance()
    }

    fn attempts_set_aside(&self) -> usize {
        self.set_aside.len()
    }

    fn set_aside(&mut self, mut other: Self) {
        self.set_aside.append(&mut other.set_aside);
        self.set_aside.push(other.attempt_record());
        self.set_aside.sort_by_key(|attempt| attempt.attempt);
    }

    /// By order; where a run was taken away and measured again, two may have one.
    fn sort(runs: &mut [Self]) {
        runs.sort_by_key(|run| (run.order, run.cell, run.repeat));
    }
}

/// Adds an attempt to the runs. Where there is one at the same run already, the less disturbed of the two stands
/// and carries the other in its list; of two alike the earlier. The same attempts give the same runs, by order, however
/// they come: sums over them are the same to the last bit, right after the last run and in a later resume.
pub fn add<A: Attempt>(runs: &mut Vec<A>, mut run: A) {
    match runs.iter_mut().find(|other| other.is_same_run(&run)) {
        None => runs.push(run),
        Some(standing) => {
            let key = |run: &A| (run.disturbance().weight(), run.attempt());
            if key(&run) < key(standing) {
                std::mem::swap(standing, &mut run);
            }
            standing.set_aside(run);
        }
    }
    A::sort(runs);
}

/// Whether a generator was too late is said by the response time of the cell, not by that of its own run: held against that, of two runs with
/// the same lag the faster one alone would be left out, and what remains would be slower than the server is.
///
/// Judges the lag of every run anew, by the median of the mean response times of all runs of its cell. What a run says of its lag
/// otherwise stays, as where it was not measured.
pub(crate) fn judge_lateness(runs: &mut [RunFile]) {
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

    fn attempt(number: u32, steal: f64) -> RunFile {
        RunFile {
            attempt: number,
            cell: 1,
            repeat: 2,
            order: number,
            sense: BTreeMap::from([("host_steal_percent".to_owned(), steal)]),
            other_load_percent: Some(1.0),
            ..RunFile::default()
        }
    }

    /// The runs that follow from these attempts, added in one order and another.
    fn in_other_orders(attempts: &[RunFile; 3]) -> [Vec<RunFile>; 3] {
        [[0, 1, 2], [2, 1, 0], [1, 2, 0]].map(|order| {
            let mut runs = Vec::new();
            order.iter().for_each(|at| add(&mut runs, attempts[*at].clone()));
            runs
        })
    }

    #[test]
    fn the_least_disturbed_attempt_stands_in_whatever_order_they_come() {
        for runs in in_other_orders(&[attempt(1, 6.9), attempt(2, 2.5), attempt(3, 4.0)]) {
            assert_eq!(runs.len(), 1);
            assert_eq!(runs[0].attempt, 2);
            let aside: Vec<_> =
                runs[0].set_aside.iter().map(|one| (one.attempt, one.steal_percent)).collect();
            assert_eq!(aside, [(1, Some(6.9)), (3, Some(4.0))]);
        }
    }

    #[test]
    fn the_runs_stand_in_one_order_however_they_come() {
        let first_again = RunFile { order: 3, ..attempt(2, 1.0) };
        let second = RunFile { repeat: 3, ..attempt(2, 1.0) };
        for runs in in_other_orders(&[attempt(1, 9.0), second, first_again]) {
            assert_eq!(runs.iter().map(|run| run.order).collect::<Vec<_>>(), [2, 3]);
        }
    }

    #[test]
    fn of_two_alike_the_earlier_stands_and_other_repeats_are_their_own() {
        let mut runs = Vec::new();
        add(&mut runs, attempt(2, 3.0));
        add(&mut runs, attempt(1, 3.0));
        add(&mut runs, RunFile { repeat: 3, ..attempt(1, 9.0) });
        assert_eq!((runs.len(), runs[0].attempt, runs[1].repeat), (2, 1, 3));
    }

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
        judge_lateness(&mut runs);
        assert_eq!(late(&runs), [false, false, false, true]);
        let mut runs = vec![run(1, 0.55, 8.0), run(1, 0.55, 10.0), run(1, 0.55, 12.0)];
        judge_lateness(&mut runs);
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
        judge_lateness(&mut runs);
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
        judge_lateness(&mut runs);
        assert_eq!(late(&runs), [false; 3]);
        let mut old =
            vec![RunFile { lag: TimesRecord::default(), caveats: vec![stored], ..run(1, 0.0, 6.0) }];
        judge_lateness(&mut old);
        assert_eq!(late(&old), [true]);
        judge_lateness(&mut []);
    }
}
