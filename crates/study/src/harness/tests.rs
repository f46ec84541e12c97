//! A study of two factors and one finding, whole: what a new study needs at least.

use super::*;
use crate::store::{Attempt, StoreError, StudyFolder};
use evenkeel_os::Stop;

/// Whether work that is shared by more workers ends sooner.
struct Workers {
    /// Stolen CPU time of an attempt at a run, percent, by name of the run and number of the attempt.
    steal: fn(&str, u32) -> f64,
    retries: u32,
    prepared: usize,
    made: Vec<(String, u32)>,
    /// Ends after so many, as a kill does.
    most: usize,
}

impl Workers {
    fn ending_after(most: usize) -> Self {
        Self { steal: |_, _| 0.0, retries: 1, prepared: 0, made: Vec::new(), most }
    }
}

const FIGURES: [Figure; 1] = [Figure::plain("seconds", ["time", "s"])];

fn plan() -> Plan {
    let part = Part {
        name: "work".to_owned(),
        title: "shared work".to_owned(),
        factors: vec![
            Factor::numeric("workers", [1, 4]),
            Factor::named("work", [("small", ""), ("large", "")]),
        ],
        repeats: 3,
        ..Part::default()
    };
    Plan {
        format: FORMAT,
        id: "workers-1".to_owned(),
        kind: "workers".to_owned(),
        seed: 7,
        parts: vec![part],
        ..Plan::default()
    }
}

impl Study for Workers {
    type Error = StoreError;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn retries(&self) -> u32 {
        self.retries
    }

    fn takes_s(&self, _: &Part, _: &[String]) -> f64 {
        1.0
    }

    fn prepare(&mut self, _: &Part, _: &[Run], _: Notify<'_>) -> Result<(), StoreError> {
        self.prepared += 1;
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>, StoreError> {
        if self.made.len() == self.most {
            return Ok(None);
        }
        self.made.push((order.name(), order.attempt));
        let workers: f64 = order.level("workers").parse().unwrap();
        let work = if order.level("work") == "large" { 8.0 } else { 4.0 };
        let mut run = Run::default();
        run.set("seconds", work / workers + 0.01 * f64::from(order.repeat));
        run.set("steal_percent", (self.steal)(&order.name(), order.attempt));
        run.series = Series {
            columns: vec!["busy".to_owned()],
            rows: vec![(0.5, vec![Some(workers)]), (1.0, vec![None])],
        };
        Ok(Some(run))
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        let cells = cells(plan, runs);
        let of = |workers: &str| cells.iter().find(|cell| cell.level("workers") == workers)?.mean("seconds");
        let ratio = of("1").zip(of("4")).map(|(one, four)| one / four);
        let finding = Finding {
            name: "sooner",
            part: "work".to_owned(),
            outcome: Outcome::of(ratio.map(|ratio| ratio > 2.0)),
            published: "four workers are more than twice as fast".to_owned(),
            here: String::new(),
            numbers: ratio.map(|ratio| Number::plain("ratio", ratio)).into_iter().collect(),
        };
        Judgement { findings: vec![finding], ..Judgement::default() }
    }
}

fn measured(study: &mut Workers, folder: &StudyFolder) -> bool {
    measure(study, folder, &Stop::default(), &mut |_| {}).unwrap()
}

#[test]
fn a_study_that_was_stopped_goes_on_where_it_was_and_finds_what_was_published() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let folder = StudyFolder::create_for(root.path(), &plan.id, &plan).unwrap();
    let mut study = Workers::ending_after(5);
    assert!(!measured(&mut study, &folder) && !is_complete(&mut study, &folder).unwrap());
    assert_eq!(study.judge(&plan, &[]).findings[0].outcome, Outcome::NotTestable);
    drop(folder);

    let folder = StudyFolder::resume(&root.path().join(&plan.id)).unwrap();
    assert!(folder.head().unwrap().is_published());
    let error = folder.plan().unwrap_err();
    assert!(error.to_string().ends_with("is a study of workers, not a profile"), "{error}");
    assert_eq!(read(&folder).unwrap().len(), 5);
    study.most = 12;
    assert!(measured(&mut study, &folder), "seven of twelve were left");
    let runs = read(&folder).unwrap();
    assert_eq!((runs.len(), study.prepared), (12, 2));
    assert_eq!(study.judge(&plan, &runs).findings[0].outcome, Outcome::Holds);
    assert!(is_complete(&mut study, &folder).unwrap(), "nothing is missing");
    assert!(measured(&mut study, &folder) && study.prepared == 2, "nothing is missing, nothing is prepared");
}

#[test]
fn what_was_watched_is_read_back_with_its_gaps() {
    let root = tempfile::tempdir().unwrap();
    let folder = StudyFolder::create_for(root.path(), "workers-1", &plan()).unwrap();
    measured(&mut Workers::ending_after(1), &folder);
    let run = read(&folder).unwrap().remove(0);
    assert_eq!(run.series.rows[1], (1.0, vec![None]));
    let plan = plan();
    let runs = [run];
    let found = moments(&cells(&plan, &runs)[0], "busy");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at_s, 0.5);
}

#[test]
fn a_run_that_was_cut_off_is_measured_again_and_one_that_is_damaged_is_named() {
    let root = tempfile::tempdir().unwrap();
    let folder = StudyFolder::create_for(root.path(), "workers-1", &plan()).unwrap();
    let runs = folder.path().join("runs");
    std::fs::create_dir(runs.join("work-1-small-r1.part")).unwrap();
    assert_eq!(read(&folder).unwrap(), []);
    std::fs::create_dir(runs.join("work-1-small-r1")).unwrap();
    std::fs::write(runs.join("work-1-small-r1/run.json"), "{").unwrap();
    let error = read(&folder).unwrap_err();
    assert!(error.to_string().contains("work-1-small-r1/run.json"), "{error}");
}

fn refused(change: impl Fn(&mut Plan)) -> String {
    let root = tempfile::tempdir().unwrap();
    let mut plan = plan();
    change(&mut plan);
    let folder = StudyFolder::create_for(root.path(), &plan.id, &plan).unwrap();
    plan_of(&folder).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_plan_with_more_runs_than_anybody_waits_for_is_refused_before_they_are_counted_out() {
    for repeats in [0, 1, u32::MAX] {
        let told = refused(|plan| {
            plan.parts[0].factors =
                (0..8).map(|number| Factor::numeric(&format!("f{number}"), 0..100)).collect();
            plan.parts[0].repeats = repeats;
        });
        assert!(told.contains("part work has") && told.contains("100000 are the most"), "{told}");
    }
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused() {
    for name in ["../../elsewhere", "", ".hidden", "a/b", "a\0b"] {
        assert!(
            refused(|plan| plan.parts[0].name = name.to_owned()).contains("no folder may have"),
            "{name:?}"
        );
        let told = refused(|plan| plan.parts[0].factors[1].levels[0].name = name.to_owned());
        assert!(told.contains("no folder may have"), "{name:?}");
    }
}

/// One on a machine of which others use a part.
fn noisy(retries: u32, steal: fn(&str, u32) -> f64) -> Workers {
    Workers { steal, retries, ..Workers::ending_after(usize::MAX) }
}

/// Two combinations, each three times.
fn six() -> Plan {
    let mut plan = plan();
    plan.parts[0].factors.truncate(1);
    plan
}

/// All runs that the folder of a study has at its end, with what was told.
fn outcome(study: &mut Workers, root: &std::path::Path) -> (Vec<Run>, Vec<Event>) {
    let folder = match root.join("workers-1").exists() {
        true => StudyFolder::resume(&root.join("workers-1")).unwrap(),
        false => StudyFolder::create_for(root, "workers-1", &six()).unwrap(),
    };
    let mut told = Vec::new();
    measure(study, &folder, &Stop::default(), &mut |event| told.push(event)).unwrap();
    (read(&folder).unwrap(), told)
}

/// A neighbour comes in once.
fn once(name: &str, attempt: u32) -> f64 {
    if (name, attempt) == ("work-1-r1", 1) { 9.0 } else { 0.5 }
}

#[test]
fn a_disturbed_run_is_made_again_after_its_block_and_the_least_disturbed_attempt_stands() {
    let root = tempfile::tempdir().unwrap();
    let mut study = noisy(1, once);
    let (runs, told) = outcome(&mut study, root.path());
    assert_eq!((study.made.len(), &study.made[2]), (7, &("work-1-r1".to_owned(), 2)));
    let text = "work-1-r1: attempt 2, since it was disturbed (9.0 % stolen)";
    assert!(told.contains(&Event::Step(text.to_owned())), "{told:?}");
    let (again, others): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| !run.set_aside.is_empty());
    assert_eq!((again.len(), others.len()), (1, 5));
    assert_eq!((again[0].attempt, again[0].figure("steal_percent")), (2, Some(0.5)));
    assert!(again[0].caveats.iter().any(|doubt| doubt.text.contains("1 attempt was set aside")), "{again:?}");
    assert!(others.iter().all(|run| run.attempt == 1 && run.caveats.is_empty()), "{others:?}");
    assert!(root.path().join("workers-1/runs/work-1-r1.attempt-2/run.json").is_file());

    let (same, told) = outcome(&mut study, root.path());
    assert_eq!((study.made.len(), told.len(), same), (7, 0, runs), "nothing is left to do");
}

#[test]
fn an_attempt_that_is_disturbed_more_than_the_first_does_not_stand() {
    let root = tempfile::tempdir().unwrap();
    let (runs, _) = outcome(&mut noisy(1, |name, attempt| once(name, 1) * f64::from(attempt)), root.path());
    let again = runs.iter().find(|run| run.attempts_set_aside() > 0).unwrap();
    assert_eq!((again.attempt, again.set_aside[0].steal), (1, Some(18.0)));
}

#[test]
fn of_runs_that_are_all_disturbed_a_third_is_made_again_and_each_as_often_as_was_asked_for() {
    for (retries, of_one) in [(0, 0), (1, 1), (3, 2)] {
        let root = tempfile::tempdir().unwrap();
        let mut study = noisy(retries, |_, _| 50.0);
        let (runs, _) = outcome(&mut study, root.path());
        assert_eq!((runs.len(), study.made.len()), (6, if retries == 0 { 6 } else { 8 }), "{:?}", study.made);
        assert!(runs.iter().all(|run| run.attempts_set_aside() <= of_one), "{runs:?}");
    }
}

#[test]
fn a_study_that_was_killed_before_it_made_a_disturbed_run_again_makes_up_for_it() {
    let root = tempfile::tempdir().unwrap();
    let mut study = Workers { most: 2, ..noisy(1, once) };
    assert_eq!(outcome(&mut study, root.path()).0.len(), 2);
    study.most = usize::MAX;
    assert_eq!(outcome(&mut study, root.path()).0.len(), 6);
    assert_eq!(study.made[2], ("work-1-r1".to_owned(), 2), "{:?}", study.made);
}
