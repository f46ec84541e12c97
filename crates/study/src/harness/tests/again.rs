//! Disturbed runs are made again within bounds.

use super::*;
use crate::store::Attempt;

/// A study on a machine of which others use a part.
struct Noisy {
    /// Stolen CPU time of an attempt at a run, percent, by name of the run and number of the attempt.
    steal: fn(&str, u32) -> f64,
    retries: u32,
    made: Vec<(String, u32)>,
    /// Ends after so many, as a kill does.
    left: usize,
}

impl Noisy {
    fn new(retries: u32, steal: fn(&str, u32) -> f64) -> Self {
        Self { steal, retries, made: Vec::new(), left: usize::MAX }
    }
}

impl Study for Noisy {
    type Error = StoreError;

    fn figures(&self) -> &'static [Figure] {
        &[]
    }

    fn retries(&self) -> u32 {
        self.retries
    }

    fn takes_s(&self, _: &Part, _: &[String]) -> f64 {
        1.0
    }

    fn prepare(&mut self, _: &Part, _: Notify<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>, StoreError> {
        if self.made.len() == self.left {
            return Ok(None);
        }
        self.made.push((order.name(), order.attempt));
        let mut run = Run::default();
        run.set("steal_percent", (self.steal)(&order.name(), order.attempt));
        Ok(Some(run))
    }

    fn judge(&self, _: &Plan, _: &[Run]) -> Judgement {
        Judgement::default()
    }
}

/// Two combinations, each three times.
fn six() -> Plan {
    let factors = vec![Factor::named("disk", [("0.5", ""), ("2", "")])];
    let part = Part { name: "work".to_owned(), factors, repeats: 3, ..Part::default() };
    Plan {
        format: FORMAT,
        id: "noisy-1".to_owned(),
        kind: "noisy".to_owned(),
        parts: vec![part],
        ..Plan::default()
    }
}

/// All runs that the folder of a study has at its end, with what was told.
fn outcome(study: &mut Noisy, root: &std::path::Path) -> (Vec<Run>, Vec<Event>) {
    let folder = match root.join("noisy-1").exists() {
        true => StudyFolder::resume(&root.join("noisy-1")).unwrap(),
        false => StudyFolder::create_for(root, "noisy-1", &six()).unwrap(),
    };
    let mut told = Vec::new();
    measure(study, &folder, &Stop::default(), &mut |event| told.push(event)).unwrap();
    (read(&folder).unwrap(), told)
}

/// A neighbour comes in once.
fn once(name: &str, attempt: u32) -> f64 {
    if (name, attempt) == ("work-0.5-r1", 1) { 9.0 } else { 0.5 }
}

#[test]
fn a_disturbed_run_is_made_again_after_its_block_and_the_least_disturbed_attempt_stands() {
    let root = tempfile::tempdir().unwrap();
    let mut study = Noisy::new(1, once);
    let (runs, told) = outcome(&mut study, root.path());
    assert_eq!((study.made.len(), &study.made[2]), (7, &("work-0.5-r1".to_owned(), 2)));
    let text = "work-0.5-r1: attempt 2, since it was disturbed (9.0 % stolen)";
    assert!(told.contains(&Event::Step(text.to_owned())), "{told:?}");
    let (again, others): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| !run.set_aside.is_empty());
    assert_eq!((again.len(), others.len()), (1, 5));
    assert_eq!((again[0].attempt, again[0].figure("steal_percent")), (2, Some(0.5)));
    assert!(again[0].caveats.iter().any(|doubt| doubt.text.contains("1 attempt was set aside")), "{again:?}");
    assert!(others.iter().all(|run| run.attempt == 1 && run.caveats.is_empty()), "{others:?}");
    assert!(root.path().join("noisy-1/runs/work-0.5-r1.attempt-2/run.json").is_file());

    let (same, told) = outcome(&mut study, root.path());
    assert_eq!((study.made.len(), told.len(), same), (7, 0, runs), "nothing is left to do");
}

#[test]
fn an_attempt_that_is_disturbed_more_than_the_first_does_not_stand() {
    let root = tempfile::tempdir().unwrap();
    let (runs, _) =
        outcome(&mut Noisy::new(1, |name, attempt| once(name, 1) * f64::from(attempt)), root.path());
    let again = runs.iter().find(|run| run.attempts_set_aside() > 0).unwrap();
    assert_eq!((again.attempt, again.set_aside[0].steal), (1, Some(18.0)));
}

#[test]
fn of_runs_that_are_all_disturbed_a_third_is_made_again_and_each_as_often_as_was_asked_for() {
    for (retries, of_one) in [(0, 0), (1, 1), (3, 2)] {
        let root = tempfile::tempdir().unwrap();
        let mut study = Noisy::new(retries, |_, _| 50.0);
        let (runs, _) = outcome(&mut study, root.path());
        assert_eq!((runs.len(), study.made.len()), (6, if retries == 0 { 6 } else { 8 }), "{:?}", study.made);
        assert!(runs.iter().all(|run| run.attempts_set_aside() <= of_one), "{runs:?}");
    }
}

#[test]
fn a_study_that_was_killed_before_it_made_a_disturbed_run_again_makes_up_for_it() {
    let root = tempfile::tempdir().unwrap();
    let mut study = Noisy { left: 2, ..Noisy::new(1, once) };
    assert_eq!(outcome(&mut study, root.path()).0.len(), 2);
    study.left = usize::MAX;
    assert_eq!(outcome(&mut study, root.path()).0.len(), 6);
    assert_eq!(study.made[2], ("work-0.5-r1".to_owned(), 2), "{:?}", study.made);
}
