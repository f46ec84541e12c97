//! Comparisons of studies made by hand.

use super::*;
use crate::store::format::{
    CountsRecord, KindRecord, NeighboursRecord, PlanFile, RunFile, TimesRecord, Verdict,
};
use evenkeel_core::experiment::{Side as Where, Verdict as Judged};

const PLAN: &str = r#"{"format":1,"id":"one","kind":"profile","created_unix_s":1,"tool":"0","command":[],"seed":1,
"settings":{"repeats":4,"duration_s":8,"warm_up_s":1,"timeout_s":10,"sessions":"pooled:8",
"reset":"none","objective_p95_ms":null,
"generator_cpus":[],"retries":1,"whole_sweep":false},
"targets":[{"label":"a","url":"mysql://a","cpus":[],"memory_bytes":null}],
"series":[{"label":"a","target":0,"workload":"w","pool_bytes":null,"pool_percent":null,"layout":"as-is","levels":{}}],
"rate":"100,200","cells":[{"id":1,"series":0,"rate_per_s":100.0},{"id":2,"series":0,"rate_per_s":200.0}],"rates_known":true,"probes":[],"sweeps":[],"workload_files":[]}"#;

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
    Side::of(plan(id), runs(response_ms))
}

fn ratio(found: &Compared) -> f64 {
    found.comparison.as_ref().unwrap().ratio.ratio
}

fn margin() -> Margin {
    Margin::new(0.05).unwrap()
}

fn response(first: &Side, second: &Side) -> Compared {
    compare(first, second, Criterion::Response, margin()).unwrap()
}

#[test]
fn response_times_are_compared_at_all_rates_that_both_have() {
    let (one, slower) = (side("one", [10.0, 20.0]), side("two", [12.0, 24.0]));
    let found = response(&one, &slower);
    assert_eq!((found.conditions.len(), found.verdict), (2, Judged::Worse));
    assert!((ratio(&found) - 1.2).abs() < 1e-9, "{found:?}");
    let back = compare(&slower, &one, Criterion::P95, margin()).unwrap();
    assert_eq!(back.verdict, Judged::Better);
    let same = response(&one, &side("three", [10.1, 20.2]));
    assert_eq!(same.verdict, Judged::Same, "{same:?}");
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
    Side::of(plan, all)
}

#[test]
fn series_are_held_against_those_of_the_same_label_whatever_their_order() {
    let (one, turned) = (of_pools("one", ["20 %", "100 %"]), of_pools("two", ["100 %", "20 %"]));
    let found = response(&one, &turned);
    assert_eq!((found.verdict, found.conditions.len()), (Judged::Same, 2), "{found:?}");
    let further = of_pools("three", ["50 %", "20 %"]);
    let found = response(&one, &further);
    assert_eq!((found.conditions.len(), found.conditions[0].label.as_str()), (1, "20 %"));
    assert_eq!(found.left_out, ["100 %: of the first alone", "50 %: of the second alone"]);
    let others = of_pools("four", ["a", "b"]);
    let found = response(&one, &others);
    assert_eq!(found.conditions[0].label, "a against 20 %");
}

/// The runs of the cell at 200 requests/s, of which so many did not settle.
fn unsettled(mut all: Vec<RunFile>, count: u32) -> Vec<RunFile> {
    let unsettled = |run: &&mut RunFile| run.cell == 2 && run.repeat <= count;
    all.iter_mut().filter(unsettled).for_each(|run| run.stability = Verdict::Unstable);
    all
}

fn of_runs(id: &str, runs: Vec<RunFile>) -> Side {
    Side::of(plan(id), runs)
}

#[test]
fn rates_whose_response_says_nothing_on_either_side_are_left_out_by_name() {
    let [one, two] = ["one", "two"].map(|id| of_runs(id, unsettled(runs([10.0, 24.0]), 4)));
    let found = response(&one, &two);
    assert_eq!((found.conditions.len(), found.parted.len(), found.verdict), (1, 0, Judged::Same));
    assert!(
        found.left_out[0].starts_with("200 requests/s: the queue did not settle"),
        "{:?}",
        found.left_out
    );
}

#[test]
fn a_rate_that_the_first_carried_and_the_second_did_not_is_worse_whatever_the_others_are() {
    let one = side("one", [10.0, 20.0]);
    // At the other rate the second is twice as fast.
    let collapsed = of_runs("two", unsettled(runs([5.0, 24.0]), 4));
    for figure in [Criterion::Response, Criterion::P95] {
        let found = compare(&one, &collapsed, figure, margin()).unwrap();
        assert_eq!((found.verdict, found.conditions.len()), (Judged::Worse, 1), "{found:?}");
        let parted = &found.parted[0];
        assert_eq!((parted.rate_per_s, parted.side, parted.runs), (200.0, Where::Worse, (4, 4)));
        assert!(found.left_out.is_empty(), "{:?}", found.left_out);
    }
    let slower = of_runs("two", unsettled(runs([10.0, 24.0]), 4));
    let back = response(&slower, &one);
    assert_eq!((back.verdict, back.parted[0].side), (Judged::Better, Where::Better));
    // Nobody overloaded the first, so that there is no throughput in overload; that it carries more is known all the same.
    let found = compare(&one, &collapsed, Criterion::Throughput, margin()).unwrap();
    assert_eq!((found.verdict, found.comparison), (Judged::Worse, None));
}

#[test]
fn requests_that_were_given_up_in_every_run_of_one_side_are_a_rate_that_it_did_not_carry() {
    let mut given_up = runs([10.0, 20.0]);
    given_up.iter_mut().filter(|run| run.cell == 2).for_each(|run| run.lower_bound = true);
    let found = response(&side("one", [10.0, 20.0]), &of_runs("two", given_up));
    assert_eq!(found.verdict, Judged::Worse, "{found:?}");
}

#[test]
fn a_rate_that_did_not_settle_in_some_runs_forbids_a_verdict_that_passes_over_it() {
    let one = side("one", [10.0, 20.0]);
    let verdict = |response_ms: [f64; 2], count: u32| {
        let found = response(&one, &of_runs("two", unsettled(runs(response_ms), count)));
        assert!(
            found.parted.is_empty()
                && found.left_out[0].contains("the second did not settle in 1 of its 4 runs")
        );
        found.verdict
    };
    assert_eq!(verdict([10.0, 20.0], 1), Judged::NotKnown { runs_more: None });
    assert_eq!(verdict([5.0, 20.0], 1), Judged::NotKnown { runs_more: None });
    assert_eq!(verdict([15.0, 20.0], 1), Judged::Worse);
}

#[test]
fn a_single_run_does_not_tell_that_a_rate_is_carried() {
    let mut one = runs([10.0, 20.0]);
    one.retain(|run| run.cell == 1 || run.repeat == 1);
    let found = response(&of_runs("one", one), &of_runs("two", unsettled(runs([10.0, 20.0]), 4)));
    assert_eq!((found.verdict, found.parted.len()), (Judged::NotKnown { runs_more: None }, 0));
}

#[test]
fn rates_that_cancel_one_another_are_worse_where_one_is() {
    let found = response(&side("one", [10.0, 20.0]), &side("two", [13.0, 15.4]));
    let ratio = ratio(&found);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let by_itself: Vec<_> = found.conditions.iter().map(|condition| condition.by_itself).collect();
    assert_eq!(by_itself, [Some(Where::Worse), Some(Where::Better)]);
    assert_eq!(found.verdict, Judged::Worse);
}

#[test]
fn a_rate_with_a_single_run_does_not_take_the_interval_from_all() {
    let mut few = runs([12.0, 24.0]);
    few.retain(|run| run.cell == 1 || run.repeat == 1);
    let few = Side::of(plan("two"), few);
    let found = response(&side("one", [10.0, 20.0]), &few);
    assert_eq!((found.conditions.len(), found.verdict), (1, Judged::Worse));
    assert!(
        found.left_out[0].contains("200 requests/s: one side has fewer than two runs"),
        "{:?}",
        found.left_out
    );
}

#[test]
fn what_else_differs_and_rates_of_one_study_alone_are_named() {
    let mut other = plan("two");
    other.settings.sessions = "pooled:16".to_owned();
    other.cells[1].rate_per_s = 250.0;
    let found = response(&side("one", [10.0, 20.0]), &Side::of(other, runs([10.0, 20.0])));
    assert_eq!(found.unlike, ["8 connections, then 16"]);
    assert_eq!(found.left_out[0], "200 requests/s: measured in the first alone");
}

#[test]
fn what_has_nothing_in_common_is_refused_with_what_to_measure() {
    let one = side("one", [10.0, 20.0]);
    let mut elsewhere = plan("two");
    elsewhere.cells.iter_mut().for_each(|cell| cell.rate_per_s += 7.0);
    let other = Side::of(elsewhere, runs([10.0, 20.0]));
    let error = compare(&one, &other, Criterion::Response, margin()).unwrap_err();
    assert!(error.hint().contains("--rate 100,200"), "{error:?}");
    assert_eq!(error.to_string(), "not comparable: no common rate of the two studies");
    let error = compare(&one, &one.clone(), Criterion::Throughput, margin()).unwrap_err();
    assert!(matches!(error, CompareError::NoOverload { .. }), "{error:?}");
}

#[test]
fn a_side_with_runs_to_come_says_so_and_how_it_goes_on() {
    let unfinished = |id: &str| Side::of(plan(id), runs([10.0, 20.0])[..7].to_vec());
    let told = |one: &Side, other: &Side| {
        let found = response(one, other);
        found.caveats.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let whole = side("one", [10.0, 20.0]);
    let missing = "Of 8 runs 7 are finished. Continue with `evenkeel profile --resume two`.";
    assert_eq!(told(&whole, &side("two", [10.0, 20.0])), [""; 0]);
    assert_eq!(told(&whole, &unfinished("two")), [missing]);
    assert_eq!(told(&unfinished("two"), &unfinished("two")), [missing], "once of one study");
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
        Side::of(plan(id), all)
    };
    let found =
        compare(&overloaded("one", 140.0), &overloaded("two", 170.0), Criterion::Throughput, margin())
            .unwrap();
    assert_eq!((found.verdict, found.conditions[0].pair.second.len()), (Judged::Better, 4), "{found:?}");
}

/// The same runs with this lag in their response times.
fn late(mut all: Vec<RunFile>, cell: u32, lag_ms: f64) -> Vec<RunFile> {
    for run in all.iter_mut().filter(|run| run.cell == cell) {
        run.lag = TimesRecord { count: 800, mean_ms: lag_ms, p95_ms: lag_ms, ..TimesRecord::default() };
    }
    crate::store::judge_lateness(&mut all);
    all
}

/// An index made a statement of a mix 24 times faster, from 6.05 to 0.251 ms, of which the lag was 0.12.
#[test]
fn a_lag_that_changes_no_verdict_sets_no_run_aside() {
    let mix = |response_ms: f64, search_ms: f64| {
        let mut all = runs([response_ms, response_ms]);
        for run in &mut all {
            let own = |name: &str, ms: f64| KindRecord {
                name: name.to_owned(),
                completed: 400,
                lost: 0,
                times: TimesRecord {
                    count: 400,
                    mean_ms: ms * (1.0 + 0.01 * f64::from(run.repeat)),
                    ..TimesRecord::default()
                },
            };
            run.statements = vec![own("search", search_ms), own("detail", 0.2)];
        }
        late(late(all, 1, 0.12), 2, 0.12)
    };
    let (before, after) = (of_runs("before", mix(6.05, 9.0)), of_runs("after", mix(0.251, 0.3)));
    for figure in [Criterion::Response, Criterion::P95] {
        let found = compare(&before, &after, figure, margin()).unwrap();
        assert_eq!((found.verdict, found.conditions.len(), found.left_out.len()), (Judged::Better, 2, 0));
    }
    let found = response(&before, &after);
    let told = |at: usize| (found.statements[at].name.as_str(), found.statements[at].comparison.verdict);
    assert_eq!((told(0), told(1)), (("search", Judged::Better), ("detail", Judged::Same)));
}

#[test]
fn runs_are_set_aside_where_the_verdict_depends_on_their_lag() {
    // Slower by the lag alone at one rate, and the same at the other.
    let slower = of_runs("two", late(runs([12.0, 20.0]), 1, 2.0));
    let found = response(&side("one", [10.0, 20.0]), &slower);
    assert_eq!((found.verdict, found.conditions.len()), (Judged::Same, 1), "{found:?}");
    assert!(found.left_out.iter().any(|left| left.starts_with("4 runs in which the generator was late")));
    // Where all are late, nothing is left to tell.
    let all = of_runs("three", late(late(runs([12.0, 24.0]), 1, 2.0), 2, 4.0));
    let found = response(&side("one", [10.0, 20.0]), &all);
    assert_eq!(found.verdict, Judged::NotKnown { runs_more: None });
}

#[test]
fn cpu_for_a_request_is_compared_at_rates_that_are_nearly_the_same() {
    let of = |id: &str, micros: f64, rates: f64| {
        let mut plan = plan(id);
        plan.cells.iter_mut().for_each(|cell| cell.rate_per_s += rates);
        let mut all = runs([10.0, 20.0]);
        for run in &mut all {
            let micros = micros * (1.0 + 0.01 * f64::from(run.repeat));
            run.sense.insert("server_cpu_us_per_request".to_owned(), micros);
        }
        let said = &crate::profile::summarise(&plan, &all).headlines[0].cpu_text;
        assert!(said.ends_with("on average, at 100 to 200 requests completed per second"), "{said}");
        Side::of(plan, all)
    };
    let one = of("one", 500.0, 0.0);
    let found = compare(&one, &of("two", 400.0, 7.0), Criterion::Cpu, margin()).unwrap();
    assert_eq!((found.verdict, found.conditions.len()), (Judged::Better, 2));
    assert!((ratio(&found) - 0.8).abs() < 1e-9, "{found:?}");
    // Of one server, nearly idle and busy: CPU per request falls with the rate.
    let error = compare(&one, &of("two", 90.0, 14_800.0), Criterion::Cpu, margin()).unwrap_err();
    assert!(error.to_string().contains("no common rate"), "{error}");
    assert!(error.hint().contains("--rate 100,200"), "{error:?}");
    // At 190 and 290 beside 100 and 200, one pair is near.
    let found = compare(&one, &of("two", 500.0, 90.0), Criterion::Cpu, margin()).unwrap();
    assert_eq!((found.conditions.len(), found.conditions[0].rate_per_s), (1, Some(200.0)));
    let found = compare(&one, &of("two", 600.0, 0.0), Criterion::Cpu, margin()).unwrap();
    assert_eq!((found.verdict, found.conditions.len()), (Judged::Worse, 2));
    let unseen = compare(&one, &side("two", [10.0, 20.0]), Criterion::Cpu, margin()).unwrap_err();
    assert!(matches!(unseen, CompareError::NoFigure { .. }), "{unseen}");
}

#[test]
fn cpu_beside_other_load_is_compared_where_the_difference_is_larger_than_caches_make_it() {
    let of = |id: &str, micros: f64| {
        let mut all = runs([10.0, 20.0]);
        for run in &mut all {
            let micros = micros * (1.0 + 0.01 * f64::from(run.repeat));
            run.sense.insert("server_cpu_us_per_request".to_owned(), micros);
            let around = NeighboursRecord { cpus: 1.0, taken_percent: 60.0, ..NeighboursRecord::default() };
            run.neighbours = Some(around);
        }
        of_runs(id, all)
    };
    let by = |micros: f64| compare(&of("one", 500.0), &of("two", micros), Criterion::Cpu, margin());
    let error = by(400.0).unwrap_err();
    assert_eq!(error, CompareError::Neighbours { taken_percent: 60.0 });
    assert_eq!(by(100.0).map(|found| found.verdict), Ok(Judged::Better));
}

#[test]
fn requests_that_take_more_cpu_time_in_some_runs_of_a_rate_are_a_doubt() {
    let doubts = |more: f64| {
        let mut all = runs([10.0, 20.0]);
        for run in &mut all {
            let micros = 500.0 * f64::from(run.cell) * (1.0 + more * f64::from(run.repeat % 2));
            run.sense.insert("server_cpu_us_per_request".to_owned(), micros);
        }
        let found = crate::profile::summarise(&plan("one"), &all).caveats;
        found.iter().filter(|caveat| caveat.code == "cpu-varies").count()
    };
    assert_eq!((doubts(0.03), doubts(0.5)), (0, 1));
}

#[test]
fn one_that_carries_more_than_the_other_at_most_is_better_without_a_rate_in_common() {
    let busy = |run: &mut RunFile, factor: f64| {
        let (rate, seconds) = (factor * 100.0 * f64::from(run.cell), run.measured_s);
        run.throughput_per_s = rate;
        let requests = (rate * seconds) as u64;
        run.counts = CountsRecord { arrivals: requests, completed: requests, ..CountsRecord::default() };
        run.response.count = requests;
    };
    let mut refused = unsettled(runs([10.0, 2_000.0]), 4);
    refused.iter_mut().for_each(|run| busy(run, 1.0));
    for run in refused.iter_mut().filter(|run| run.cell == 2) {
        (run.throughput_per_s, run.counts.arrivals) = (150.0 + f64::from(run.repeat), 1_600);
        run.counts.completed = 1_208;
    }
    let mut plan = plan("two");
    plan.cells.iter_mut().for_each(|cell| cell.rate_per_s *= 4.0);
    let mut carried = runs([10.0, 20.0]);
    carried.iter_mut().for_each(|run| busy(run, 4.0));
    let (one, two) = (of_runs("one", refused), Side::of(plan, carried));
    let found = compare(&one, &two, Criterion::Throughput, margin()).unwrap();
    assert_eq!((found.verdict, found.carried.len()), (Judged::Better, 1), "{found:?}");
    let back = compare(&two, &one, Criterion::Throughput, margin()).unwrap();
    assert_eq!((back.verdict, back.carried[0].side), (Judged::Worse, Where::Worse));
}
