//! A study of two factors and one finding, whole: what a new study needs at least.

use super::*;
use crate::store::{StoreError, StudyFolder};
use evenkeel_os::stop::Stop;

mod again;
mod edited;

/// Whether work that is shared by more workers ends sooner.
struct Workers {
    prepared: usize,
    /// Ends after so many runs, as a kill does.
    left: usize,
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

    fn takes_s(&self, _: &Part, _: &[String]) -> f64 {
        1.0
    }

    fn prepare(&mut self, _: &Part, _: Notify<'_>) -> Result<(), StoreError> {
        self.prepared += 1;
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>, StoreError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let workers: f64 = order.level("workers").parse().unwrap();
        let work = if order.level("work") == "large" { 8.0 } else { 4.0 };
        let mut run = Run::default();
        run.set("seconds", work / workers + 0.01 * f64::from(order.repeat));
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
    let mut study = Workers { prepared: 0, left: 5 };
    assert!(!measured(&mut study, &folder) && !is_complete(&mut study, &folder).unwrap());
    assert_eq!(study.judge(&plan, &[]).findings[0].outcome, Outcome::NotTestable);
    drop(folder);

    let folder = StudyFolder::resume(&root.path().join(&plan.id)).unwrap();
    assert!(folder.head().unwrap().is_published());
    let error = folder.plan().unwrap_err();
    assert!(error.to_string().ends_with("is a study of workers, not a profile"), "{error}");
    assert_eq!(read(&folder).unwrap().len(), 5);
    study.left = 7;
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
    measured(&mut Workers { prepared: 0, left: 1 }, &folder);
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
