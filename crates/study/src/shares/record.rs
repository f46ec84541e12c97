//! A run as figures and series.

use crate::harness::{Run, Series};
use crate::published::of_hosts;
use evenkeel_core::share::experiment::{Experiment, Outcome, judge};
use evenkeel_core::share::simulation::{Row, Trace};

/// A window as large as this bounds nothing, and is none.
const UNBOUNDED: f64 = 1e9;

pub fn record(experiment: &Experiment, trace: &Trace, period_s: f64) -> Run {
    let outcome = judge(experiment, trace);
    let mut run = Run { series: series(experiment, trace, period_s), ..Run::default() };
    for (host, iops) in outcome.iops.iter().enumerate() {
        run.set(&format!("iops@{}", host + 1), *iops);
    }
    for (host, window) in outcome.windows.iter().enumerate() {
        run.set(&format!("window@{}", host + 1), Some(*window).filter(|window| *window < UNBOUNDED));
    }
    run.set("total_iops", outcome.iops.iter().sum::<f64>());
    run.set(
        "last_over_first",
        outcome.iops.last().zip(outcome.iops.first()).map(|(last, first)| last / first),
    );
    run.set("latency_ms", 1e3 * outcome.latency_s);
    run.set("under_percent", outcome.under.map(|under| 100.0 * under));
    run.set("over_percent", 100.0 * outcome.over);
    division(&mut run, &outcome);
    lull(&mut run, &outcome, experiment.k);
    run
}

/// Shares that are never reached have no number of periods.
fn division(run: &mut Run, outcome: &Outcome) {
    run.set("shares_judged", f64::from(u8::from(outcome.division.is_some())));
    if let Some(division) = outcome.division {
        run.set("periods_to_share", division.periods.map(|periods| periods as f64));
        run.set("share_error_percent", 100.0 * division.error);
    }
}

fn lull(run: &mut Run, outcome: &Outcome, k: f64) {
    let Some(eased) = &outcome.lull else { return };
    for (host, opened) in eased.opened.iter().enumerate() {
        run.set(&format!("opened@{}", host + 1), *opened);
    }
    let names = ["beta_before", "beta_in_lull", "beta_after"];
    for (name, used) in names.into_iter().zip(eased.used) {
        run.set(&format!("{name}@{}", eased.host + 1), k * used);
    }
}

/// What each host did in each period, and the latency over the hosts that keep to a law.
fn series(experiment: &Experiment, trace: &Trace, period_s: f64) -> Series {
    let hosts: Vec<usize> = (1..=experiment.hosts.len()).collect();
    let tells = |host: usize| experiment.hosts[host].reports;
    let own = |row: &Row| {
        let values = [row.completions as f64 / row.seconds, row.window, experiment.k * row.used];
        (row.at_s, row.host, values.map(|value| Some(value).filter(|value| *value < UNBOUNDED)))
    };
    let mut series = of_hosts(&hosts, ["iops", "window", "beta"], trace.rows.iter().map(own));
    series.columns.insert(0, "latency_ms".to_owned());
    for (row, (at_s, values)) in trace.rows.iter().zip(&mut series.rows) {
        // Once a period, with the last host of it.
        let is_last = row.host + 1 == hosts.len();
        let latency = is_last.then(|| trace.latency_s((*at_s - period_s, *at_s), tells)).flatten();
        values.insert(0, latency.map(|seconds| 1e3 * seconds));
    }
    series
}
