//! Which of several attempts at a run stands.

use super::format::{AttemptRecord, RunFile};
use evenkeel_core::disturbance::Disturbance;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

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

    #[test]
    fn the_least_disturbed_attempt_stands_in_whatever_order_they_come() {
        let attempts = [attempt(1, 6.9), attempt(2, 2.5), attempt(3, 4.0)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut runs = Vec::new();
            order.iter().for_each(|at| add(&mut runs, attempts[*at].clone()));
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
        let attempts = [attempt(1, 9.0), second, first_again];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut runs = Vec::new();
            order.iter().for_each(|at| add(&mut runs, attempts[*at].clone()));
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
}
