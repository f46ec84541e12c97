//! The study as the harness makes it: each experiment on the virtual clock, or in real time.

use super::live::Live;
use super::{FIGURES, Setting, fio, scaled, way_of};
use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run, Series};
use crate::published::{At, AtWork, Bed, PublishedError, Result, Scratch, of_hosts};
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{Experiment, Outcome, experiments, judge};
use evenkeel_core::share::simulation::{Row, Trace, run as simulate};

pub type Shares<'a> = AtWork<'a, Hosts>;

/// Where hosts in real time have their files; on the virtual clock there are none.
pub struct Hosts(Option<Scratch>);

fn experiment(setting: Setting, part: &Part) -> Result<Experiment> {
    let found = experiments().into_iter().find(|experiment| experiment.name == part.name);
    let unknown = || PublishedError::wrong(format!("there is no experiment {:?}", part.name));
    Ok(scaled(&found.ok_or_else(unknown)?, setting))
}

impl Bed for Hosts {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &FIGURES;

    fn put_up(at: &At<'_, Setting>, _: Notify<'_>) -> Result<Self> {
        if !at.setting.live {
            return Ok(Self(None));
        }
        fio::check(at.workplace.stop)?;
        Ok(Self(Some(Scratch::of_study(&at.workplace, &at.plan.private_name())?)))
    }

    fn takes_s(setting: &Setting, part: &Part, _: &[String]) -> f64 {
        let lasts_s = experiment(*setting, part).map_or(0.0, |experiment| experiment.duration_s);
        if setting.live { lasts_s } else { 0.0 }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let experiment = &experiment(at.setting, order.part)?;
        let (way, period_s) = (way_of(order)?, at.setting.period_s);
        let trace = match &self.0 {
            None => Some(simulate(&experiment.scenario(way, period_s, Seed(at.plan.seed)))),
            Some(scratch) => {
                tell(Event::Step(format!("{}, {:.0} s", order.name(), experiment.duration_s)));
                let scratch = scratch.inside(&order.name())?;
                let (seed, folder) = (at.plan.seed, scratch.path());
                Live { experiment, way, period_s, seed, folder }.run(&at.workplace)?
            }
        };
        Ok(trace.map(|trace| record(experiment, &trace, period_s)))
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        super::judge(plan, *setting, runs)
    }
}

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
