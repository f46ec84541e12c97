//! The published experiments come out as they should.

use super::*;
use crate::share::simulation::run;

fn outcomes(treatment: Treatment) -> Vec<(Experiment, Outcome)> {
    let judged = |experiment: Experiment| {
        let trace = run(&experiment.scenario(treatment, 2.0, Seed(3)));
        let outcome = judge(&experiment, &trace);
        (experiment, outcome)
    };
    experiments().into_iter().map(judged).collect()
}

fn named(name: &str) -> Experiment {
    experiments().into_iter().find(|experiment| experiment.name == name).expect(name)
}

fn by(treatment: Treatment, experiment: &Experiment) -> Outcome {
    judge(experiment, &run(&experiment.scenario(treatment, 2.0, Seed(3))))
}

#[test]
fn the_published_law_gives_the_published_throughput_and_latency() {
    for (experiment, outcome) in outcomes(Treatment::Parda) {
        let total: f64 = outcome.iops.iter().sum();
        if let Some(published) = experiment.parda.iops {
            assert!((total / published - 1.0).abs() < 0.05, "{}: {total}", experiment.name);
        }
        if let Some(published) = experiment.parda.latency_s.filter(|_| experiment.why_off.is_none()) {
            let ratio = outcome.latency_s / published;
            assert!((ratio - 1.0).abs() < 0.1, "{}: {}", experiment.name, outcome.latency_s);
        }
    }
}

#[test]
fn table_6_rests_where_the_fixed_point_of_the_published_law_is() {
    let experiment = named("table-6");
    let outcome = by(Treatment::Parda, &experiment);
    let throughput: f64 = outcome.iops.iter().sum();
    let shares: f64 = experiment.hosts.iter().flat_map(|host| &host.disks).map(|disk| disk.shares).sum();
    let rest_s = experiment.threshold_s + experiment.k * shares / throughput;
    assert!((outcome.latency_s / rest_s - 1.0).abs() < 0.01, "{} for {rest_s}", outcome.latency_s);
}

#[test]
fn ours_reaches_the_shares_within_three_periods_and_holds_them_and_the_threshold() {
    let mut judged = 0;
    for (experiment, outcome) in outcomes(Treatment::Evenkeel) {
        let name = experiment.name;
        if let Some(Division { periods, error }) = outcome.division {
            judged += 1;
            assert!(periods.is_some_and(|periods| periods <= 3), "{name}: {outcome:?}");
            assert!(error < 0.05, "{name}: {outcome:?}");
        }
        assert!(outcome.over < 0.05, "{name}: {outcome:?}");
        assert!(outcome.under.is_some_and(|under| under < 0.05), "{name}: {outcome:?}");
    }
    assert_eq!(judged, 6);
}

#[test]
fn a_latency_below_the_threshold_is_as_far_off_as_one_above() {
    let mut experiment = named("table-7-64");
    let trace = run(&experiment.scenario(Treatment::Evenkeel, 2.0, Seed(3)));
    for (threshold_s, over, under) in [(0.012, 0.25, 0.0), (0.020, 0.0, 0.25)] {
        experiment.threshold_s = threshold_s;
        let outcome = judge(&experiment, &trace);
        assert!((outcome.over - over).abs() < 0.02, "{threshold_s}: {outcome:?}");
        assert!((outcome.under.expect("held back") - under).abs() < 0.02, "{threshold_s}: {outcome:?}");
    }
}

/// The six disks of table 7 without control, on which they are calibrated.
#[test]
fn clients_of_table_7_have_the_published_throughput_and_latency_without_control() {
    let experiment = named("table-7");
    let (outcome, published) = (by(Treatment::Uncontrolled, &experiment), experiment.uncontrolled);
    let total: f64 = outcome.iops.iter().sum();
    assert!((total / published.iops.expect("iops") - 1.0).abs() < 0.03, "{total}");
    let latency_s = published.latency_s.expect("a latency");
    assert!((outcome.latency_s / latency_s - 1.0).abs() < 0.03, "{}", outcome.latency_s);
}

#[test]
fn in_the_lull_both_windows_open_and_beta_follows_what_the_host_wants() {
    let Some(Eased { host, opened, used }) = by(Treatment::Parda, &named("table-7")).lull else {
        panic!("no lull")
    };
    assert_eq!(host, 1);
    assert!(opened.iter().all(|opened| *opened > 1.3), "{opened:?}");
    assert!(used[1] < 0.3 * used[0] && (used[2] / used[0] - 1.0).abs() < 0.2, "{used:?}");
    assert_eq!(
        by(Treatment::Uncontrolled, &named("table-7")).lull,
        None,
        "windows that do not exist do not open"
    );
}
