//! A study whose runs are chosen one by one, against a real server.

use super::study::{folder, measure, spec};
use evenkeel_core::Nanos;
use evenkeel_core::rates::RatePlan;
use evenkeel_study::profile::{Budget, Reset};
use evenkeel_study::store::StudyFolder;
use std::collections::BTreeSet;

#[test]
fn a_study_within_a_time_goes_on_after_a_stop_and_ends_when_the_time_is_up() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let mut spec = spec(home.path(), "tpcw.complex", RatePlan::Auto(8));
    spec.reset = Reset::Nothing;
    spec.budget = Some(Budget { until: None, within: Some(Nanos::from_secs(600)) });
    let first = folder(&root, &spec);
    // Five runs are fewer than three of both rates that a study begins with.
    let summary = measure(&spec, &first, 5);
    let plan = first.plan().unwrap();
    assert!(!summary.complete && plan.ended.is_none(), "{:?}", plan.ended);
    assert_eq!((summary.runs_done, plan.cells.len(), plan.rates_known), (5, 2, true));
    let path = first.path().to_owned();
    drop(first);

    // No time is left for a further run of this length: what was measured is told, and the study is at its end.
    spec.budget = Some(Budget { until: None, within: Some(Nanos::from_millis(1)) });
    let again = StudyFolder::resume(&path).unwrap();
    let summary = measure(&spec, &again, usize::MAX);
    assert_eq!(again.plan().unwrap().ended.as_deref(), Some("the time is up"));
    assert!(summary.complete && summary.runs_done == 5, "{summary:?}");
    assert_eq!(again.plan().unwrap().cells, plan.cells);
    let runs = again.runs().unwrap();
    let keys: BTreeSet<(u32, u32)> = runs.iter().map(|run| (run.cell, run.repeat)).collect();
    assert_eq!(keys.len(), 5);
    // The server runs on this machine, so that its neighbours are seen, and what the runs brought beside them.
    let around = runs.iter().filter_map(|run| run.neighbours.as_ref());
    assert!(around.clone().any(|around| around.cpus >= 1.0), "no run saw its neighbours");
    for around in around {
        assert!((0.0..=100.0).contains(&around.taken_percent) && around.clear_s <= 0.9, "{around:?}");
    }
}
