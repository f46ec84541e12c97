//! Where a way through rates ends, and a study whose runs are chosen one by one.

use super::*;
use evenkeel_study::profile::Budget;
use std::collections::BTreeSet;

#[test]
fn steps_end_where_the_server_carries_no_more_and_write_runs_start_from_the_same_rows() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let spec = spec(home.path(), "tpcw.write", RatePlan::Steps { from: 50.0, step: 1_000_000.0 });
    let folder = folder(&root, &spec);
    let summary = measure(&spec, &folder, usize::MAX);
    let rates: Vec<f64> = summary.cells.iter().map(|cell| cell.rate_per_s).collect();
    assert_eq!(rates, [50.0, 1_000_050.0], "the sweep ends with the first cell that does not settle");
    let overload = &summary.cells[1];
    assert!(overload.lower_bound && overload.counts.timed_out + overload.counts.unsent > 0, "{overload:?}");
    assert!(summary.cells[0].counts.completed > 0);
    assert_eq!(folder.runs().unwrap().len(), 4);
    assert!(home.path().join("sandboxes/study/snapshot").is_dir());
}

#[test]
fn a_list_ends_where_the_server_carries_no_more_also_after_a_stop() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let rates = vec![3_000_000.0, 50.0, 1_000_000.0, 2_000_000.0];
    let spec = spec(home.path(), "tpcw.simple", RatePlan::List(rates));
    let first = folder(&root, &spec);
    // In the middle of the way up: the second run that has to agree is missing.
    let summary = measure(&spec, &first, 2);
    assert_eq!((summary.runs_done, summary.runs_planned, summary.complete), (2, 8, false));
    let path = first.path().to_owned();
    drop(first);
    let again = StudyFolder::resume(&path).unwrap();
    let summary = measure(&spec, &again, usize::MAX);
    let cells: Vec<(f64, u32)> = summary.cells.iter().map(|cell| (cell.rate_per_s, cell.runs)).collect();
    assert_eq!(cells, [(50.0, 2), (1_000_000.0, 2)]);
    assert_eq!((summary.runs_done, summary.runs_planned, summary.complete), (4, 4, true));
    let told: Vec<&str> = summary.caveats.iter().map(|caveat| &*caveat.code).collect();
    assert_eq!(told, ["rates-not-measured", "first-block-rises"]);
    assert!(summary.caveats[0].text.contains("2000000, 3000000 per second"), "{}", summary.caveats[0].text);
}

#[test]
fn a_whole_sweep_goes_on_above_and_begins_in_random_order() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("runs");
    let rates = RatePlan::List(vec![50.0, 1_000_000.0, 2_000_000.0]);
    let mut spec = StudySpec { whole_sweep: true, repeats: 1, ..spec(home.path(), "tpcw.simple", rates) };
    spec.timeout = Nanos::from_secs(1);
    let folder = folder(&root, &spec);
    let summary = measure(&spec, &folder, usize::MAX);
    assert_eq!(summary.cells.len(), 3);
    assert!(summary.complete && summary.caveats.is_empty(), "{:?}", summary.caveats);
}

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
