//! Comparisons of studies made by hand.

use super::*;
use crate::store::format::{CountsRecord, PlanFile, RunFile, TimesRecord};
use evenkeel_core::experiment::Verdict as Judged;

const PLAN: &str = r#"{"format":1,"id":"one","kind":"profile","created_unix_s":1,"tool":"0","command":[],"seed":1,
"settings":{"arrivals":"poisson","repeats":4,"duration_s":8,"warm_up_s":1,"timeout_s":10,"sessions":"pooled:8","protocol":"prepared",
"reset":"none","theta_ceiling_percent":100,"objective_p95_ms":null,"tolerance_se_percent":10,"tolerance_spread_percent":40,
"generator_cpus":[],"request_log":false},
"targets":[{"label":"a","url":"mysql://a","cpus":[],"memory_bytes":null}],
"series":[{"label":"a","target":0,"workload":"w","pool_bytes":null,"pool_percent":null,"layout":"as-is"}],
"rate":"100,200","cells":[{"id":1,"series":0,"rate_per_s":100.0},{"id":2,"series":0,"rate_per_s":200.0}],"rates_known":true,"probes":[]}"#;

pub(crate) fn plan(id: &str) -> PlanFile {
    let plan: PlanFile = serde_json::from_str(PLAN).unwrap();
    PlanFile { id: id.to_owned(), ..plan }
}

/// Four runs at each of two rates; the response is so many ms, a little more in each run.
fn runs(response_ms: [f64; 2]) -> Vec<RunFile> {
    let run = |cell: u32, repeat: u32| {
        let mean_ms = response_ms[cell as usize - 1] * (1.0 + 0.01 * f64::from(repeat));
        RunFile {
            cell,
            repeat,
            measured_s: 8.0,
            throughput_per_s: 100.0 * f64::from(cell),
            stability: Verdict::Settled,
            counts: CountsRecord { arrivals: 800, completed: 800, ..CountsRecord::default() },
            response: TimesRecord { count: 800, mean_ms, p95_ms: 3.0 * mean_ms, ..TimesRecord::default() },
            ..RunFile::default()
        }
    };
    [1, 2].into_iter().flat_map(|cell| (1..=4).map(move |repeat| run(cell, repeat))).collect()
}

fn side(id: &str, response_ms: [f64; 2]) -> Side {
    Side::of(plan(id), runs(response_ms), None)
}

fn margin() -> Margin {
    Margin::new(0.05).unwrap()
}

#[test]
fn response_times_are_compared_at_all_rates_that_both_have() {
    let (one, slower) = (side("one", [10.0, 20.0]), side("two", [12.0, 24.0]));
    let found = compare(&one, &slower, Figure::Tau, margin()).unwrap();
    assert_eq!((found.conditions.len(), found.comparison.verdict), (2, Judged::Worse));
    assert!((found.comparison.ratio.ratio - 1.2).abs() < 1e-9, "{found:?}");
    let back = compare(&slower, &one, Figure::P95, margin()).unwrap();
    assert_eq!(back.comparison.verdict, Judged::Better);
    let same = compare(&one, &side("three", [10.1, 20.2]), Figure::Tau, margin()).unwrap();
    assert_eq!(same.comparison.verdict, Judged::Same, "{same:?}");
}

/// A study of two pools, the one of 20 % five times as slow.
fn of_pools(id: &str, labels: [&str; 2]) -> Side {
    let mut plan = plan(id);
    plan.series.push(plan.series[0].clone());
    let mut all = Vec::new();
    for (at, label) in labels.iter().enumerate() {
        plan.series[at].label = (*label).to_owned();
        (plan.cells[at].series, plan.cells[at].rate_per_s) = (at, 100.0);
        let slow = if label.contains("20") { 50.0 } else { 10.0 };
        all.extend(runs([slow, slow]).into_iter().filter(|run| run.cell == at as u32 + 1));
    }
    Side::of(plan, all, None)
}

#[test]
fn series_are_held_against_those_of_the_same_label_whatever_their_order() {
    let (one, turned) = (of_pools("one", ["20 %", "100 %"]), of_pools("two", ["100 %", "20 %"]));
    let found = compare(&one, &turned, Figure::Tau, margin()).unwrap();
    assert_eq!((found.comparison.verdict, found.conditions.len()), (Judged::Same, 2), "{found:?}");
    let further = of_pools("three", ["50 %", "20 %"]);
    let found = compare(&one, &further, Figure::Tau, margin()).unwrap();
    assert_eq!((found.conditions.len(), found.conditions[0].label.as_str()), (1, "20 %"));
    assert_eq!(found.left_out, ["100 %: of the first alone", "50 %: of the second alone"]);
    let others = of_pools("four", ["a", "b"]);
    let found = compare(&one, &others, Figure::Tau, margin()).unwrap();
    assert_eq!(found.conditions[0].label, "a against 20 %");
}

#[test]
fn two_studies_that_were_asked_different_things_are_compared_and_it_is_told() {
    let (one, mut other) = (side("one", [10.0, 20.0]), plan("two"));
    assert!(compare(&one, &side("two", [10.0, 20.0]), Figure::Tau, margin()).unwrap().unlike.is_empty());
    other.series[0].workload = "dvdstore".to_owned();
    let other = Side::of(other, runs([10.0, 20.0]), None);
    let found = compare(&one, &other, Figure::Tau, margin()).unwrap();
    assert_eq!(found.unlike, ["one was asked w, two was asked dvdstore"]);
}

#[test]
fn rates_whose_response_says_nothing_are_left_out_by_name() {
    let mut unstable = runs([12.0, 24.0]);
    unstable.iter_mut().filter(|run| run.cell == 2).for_each(|run| run.stability = Verdict::Unstable);
    let found =
        compare(&side("one", [10.0, 20.0]), &Side::of(plan("two"), unstable, None), Figure::Tau, margin())
            .unwrap();
    assert_eq!(found.conditions.len(), 1);
    assert!(
        found.left_out[0].starts_with("200 requests/s: the queue did not settle"),
        "{:?}",
        found.left_out
    );
}

#[test]
fn a_rate_with_a_single_run_does_not_take_the_interval_from_all() {
    let mut few = runs([12.0, 24.0]);
    few.retain(|run| run.cell == 1 || run.repeat == 1);
    let few = Side::of(plan("two"), few, None);
    let found = compare(&side("one", [10.0, 20.0]), &few, Figure::Tau, margin()).unwrap();
    assert_eq!((found.conditions.len(), found.comparison.verdict), (1, Judged::Worse));
    assert!(
        found.left_out[0].contains("200 requests/s: one side has fewer than two runs"),
        "{:?}",
        found.left_out
    );
}

#[test]
fn what_has_nothing_in_common_is_refused_with_what_to_measure() {
    let one = side("one", [10.0, 20.0]);
    let mut elsewhere = plan("two");
    elsewhere.cells.iter_mut().for_each(|cell| cell.rate_per_s += 7.0);
    let other = Side::of(elsewhere, runs([10.0, 20.0]), None);
    let error = compare(&one, &other, Figure::Tau, margin()).unwrap_err();
    assert!(error.hint().unwrap().contains("--rate 100,200"), "{error:?}");
    let error = compare(&one, &one.clone(), Figure::Throughput, margin()).unwrap_err();
    assert!(matches!(error, CompareError::NoOverload { .. }), "{error:?}");
    let cell = Side::of(plan("one"), runs([10.0, 20.0]), Some(1));
    assert_eq!(compare(&one, &cell, Figure::Tau, margin()).unwrap_err(), CompareError::CellAndStudy);
    let none = Side::of(plan("one"), runs([10.0, 20.0]), Some(9)).checked().unwrap_err();
    assert_eq!(none, CompareError::NoCell { study: "one".into(), cell: 9 });
}

#[test]
fn two_cells_of_one_study_are_compared_whatever_their_rates() {
    let of = |cell| Side::of(plan("one"), runs([10.0, 20.0]), Some(cell));
    let found = compare(&of(1), &of(2), Figure::Tau, margin()).unwrap();
    assert_eq!((found.comparison.verdict, found.conditions[0].rate_per_s), (Judged::Worse, None));
}

#[test]
fn throughput_in_overload_is_that_of_runs_that_kept_the_server_busy() {
    let overloaded = |id: &str, throughput: f64| {
        let mut all = runs([10.0, 2_000.0]);
        for run in all.iter_mut().filter(|run| run.cell == 2) {
            run.stability = Verdict::Unstable;
            run.throughput_per_s = throughput + f64::from(run.repeat);
            run.counts = CountsRecord { arrivals: 1_600, completed: 1_600, ..CountsRecord::default() };
        }
        Side::of(plan(id), all, None)
    };
    let found =
        compare(&overloaded("one", 140.0), &overloaded("two", 170.0), Figure::Throughput, margin()).unwrap();
    assert_eq!(
        (found.comparison.verdict, found.conditions[0].pair.second.len()),
        (Judged::Better, 4),
        "{found:?}"
    );
}
