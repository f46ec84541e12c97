//! What follows from the finished runs: cells, trust limit, the one sentence.

use super::answer;
use super::cells;
use super::sentence::{Findings, trust_reason};
use crate::store::format::{
    Caveat, CellSummary, CountsRecord, EstimateRecord, FORMAT, HeadlineRecord, PlanFile, ResetRecord,
    RunFile, Severity, SummaryFile, SweepRecord, Verdict,
};
use evenkeel_core::statistics::Estimate;
use evenkeel_core::trust::{Point, Settling, Tolerance, TrustLimit};

/// Everything that follows from the runs; derived, and the same for the same runs.
pub fn summarise(plan: &PlanFile, runs: &[RunFile]) -> SummaryFile {
    let cells = cells::summarise(plan, runs);
    let runs_done = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let runs_planned = runs_planned(plan, runs_done);
    // An unstable cell is a result about the server; what is measured of it is not held to its steadiness.
    let valid = cells.iter().filter(|cell| cell.stability != Verdict::Unstable).all(|cell| cell.valid);
    let headlines: Vec<HeadlineRecord> =
        groups(plan).into_iter().map(|group| headline(plan, &cells, runs, group)).collect();
    SummaryFile {
        format: FORMAT,
        caveats: caveats(plan, runs, runs_planned).into_iter().chain(cpu_varies(&headlines)).collect(),
        headlines,
        complete: is_complete(plan, runs_done, runs_planned),
        ended: plan.ended.clone().filter(|_| plan.settings.is_sequence()),
        runs_done,
        runs_planned,
        valid,
        written: None,
        cells,
    }
}

fn cpu_varies(headlines: &[HeadlineRecord]) -> Option<Caveat> {
    let percents = headlines.iter().filter_map(|headline| headline.bounds.cpu.as_ref()?.varies_percent);
    percents.reduce(f64::max).and_then(Caveat::cpu_varies)
}

/// A study whose runs are chosen one by one may have ended without any, where the time was too short for one; it is not to go on.
fn is_complete(plan: &PlanFile, done: u32, planned: u32) -> bool {
    let has_ended = plan.settings.is_sequence() && plan.ended.is_some();
    plan.rates_known && done >= planned && (planned > 0 || has_ended)
}

/// Of a study whose runs are chosen one by one all that are made, and one more until it has ended.
fn runs_planned(plan: &PlanFile, done: u32) -> u32 {
    match plan.settings.is_sequence() {
        true => done + u32::from(plan.ended.is_none()),
        false => u32::try_from(plan.cells.len()).unwrap_or(u32::MAX).saturating_mul(plan.settings.repeats),
    }
}

/// Series that differ in nothing but the target.
pub(super) fn groups(plan: &PlanFile) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, series) in plan.series.iter().enumerate() {
        match groups.iter_mut().find(|group| plan.series[group[0]].same_but_target(series)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

fn headline(plan: &PlanFile, cells: &[CellSummary], runs: &[RunFile], group: Vec<usize>) -> HeadlineRecord {
    let limit = TrustLimit::of(&points(cells, runs, plan, &group), Tolerance::default());
    let bounds = answer::of_group(plan, cells, runs, &group, limit.rate);
    let findings = Findings { plan, cells, runs, group: &group, bounds: &bounds, limit: &limit };
    HeadlineRecord {
        label: if groups(plan).len() > 1 { group_label(plan, &group) } else { String::new() },
        text: findings.carries(),
        p95_text: findings.p95(),
        cpu_text: findings.cpu(),
        trust_text: findings.trusts(),
        trust_theta_percent: limit.utilisation,
        trust_ended: limit.end.is_some(),
        trust_reason: trust_reason(&limit),
        bounds,
        series: group,
    }
}

/// How far each group of series that differ in the target alone is trusted.
pub fn trust_limits(plan: &PlanFile, runs: &[RunFile]) -> Vec<(Vec<usize>, TrustLimit)> {
    let cells = cells::summarise(plan, runs);
    let limit = |group: Vec<usize>| {
        let limit = TrustLimit::of(&points(&cells, runs, plan, &group), Tolerance::default());
        (group, limit)
    };
    groups(plan).into_iter().map(limit).collect()
}

/// Rates of a group whose runs differ by more than response times are trusted with.
pub(super) fn unsure_rates(
    cells: &[CellSummary],
    plan: &PlanFile,
    runs: &[RunFile],
    group: &[usize],
) -> Vec<f64> {
    let points = points(cells, runs, plan, group);
    points.iter().filter(|point| point.is_unsure()).map(|point| point.rate).collect()
}

fn points(cells: &[CellSummary], runs: &[RunFile], plan: &PlanFile, group: &[usize]) -> Vec<Point> {
    let mut rates: Vec<f64> =
        cells.iter().filter(|cell| group.contains(&cell.series)).map(|cell| cell.rate_per_s).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates.into_iter().filter_map(|rate| point(cells, runs, plan, group, rate)).collect()
}

fn point(
    cells: &[CellSummary],
    runs: &[RunFile],
    plan: &PlanFile,
    group: &[usize],
    rate: f64,
) -> Option<Point> {
    let here: Vec<&CellSummary> =
        cells.iter().filter(|cell| group.contains(&cell.series) && cell.rate_per_s == rate).collect();
    let ids: Vec<u32> = plan
        .cells
        .iter()
        .filter(|cell| group.contains(&cell.series) && cell.rate_per_s == rate)
        .map(|cell| cell.id)
        .collect();
    let runs: Vec<&RunFile> = runs.iter().filter(|run| ids.contains(&run.cell)).collect();
    if runs.is_empty() {
        return None;
    }
    let runs = cells::standing(&runs);
    let mut counts = CountsRecord::default();
    runs.iter().for_each(|run| counts.add(&run.counts));
    let thetas: Vec<f64> = runs.iter().filter_map(|run| Some(run.theta.as_ref()?.total_percent)).collect();
    let (tau, tau_degrees) = worst(&here).unwrap_or_else(|| {
        let answered = runs.iter().filter_map(|run| Some(run.response.measured()?.mean_ms / 1e3));
        let tau = Estimate::of(&answered.collect::<Vec<_>>());
        // Not a number where no run has an answer, and then all requests of the rate are lost.
        let tau = tau.unwrap_or(Estimate { n: 0, mean: f64::NAN, error: None });
        (tau, tau.n.saturating_sub(1) as f64)
    });
    Some(Point {
        rate,
        utilisation: Estimate::of(&thetas).map(|theta| theta.mean),
        invalid: here.iter().find_map(|cell| invalid(cell)),
        settling: settling(&runs),
        lost: 100.0 * counts.arrivals.saturating_sub(counts.completed) as f64 / counts.arrivals.max(1) as f64,
        targets: group.len(),
        tau,
        tau_degrees,
        target_taus: here.iter().map(|cell| cell.tau_ms.mean / 1e3).collect(),
    })
}

/// The first doubt that makes a cell's figures be about the generator instead of the server, by its code. So does lag that is more of
/// the mean response time than its standard error may be.
fn invalid(cell: &CellSummary) -> Option<String> {
    let is_late = |caveat: &Caveat| {
        let of = |name: &str| caveat.evidence.get(name).copied().unwrap_or_default();
        caveat.code == "lag-too-large"
            && 100.0 * of("lag_mean_s") > Tolerance::default().standard_error * of("tau_s")
    };
    let mut found = cell.caveats.iter();
    let found = found.find(|caveat| caveat.severity == Severity::Invalid || is_late(caveat))?;
    Some(found.code.to_string())
}

fn settling(runs: &[&RunFile]) -> Settling {
    let those = |verdict| runs.iter().filter(|run| run.stability == verdict).count();
    Settling::of(runs.len(), those(Verdict::Settled), those(Verdict::Unstable))
}

/// The tau of the target whose runs differ most, with the degrees of freedom of its error: the standard error is that over runs of one server, and the
/// spread between servers is held to a tolerance of its own.
fn worst(cells: &[&CellSummary]) -> Option<(Estimate, f64)> {
    let share = |(tau, _): &(Estimate, f64)| tau.standard_error().unwrap_or(f64::INFINITY) / tau.mean;
    let degrees = |tau: &EstimateRecord| tau.degrees.unwrap_or(f64::from(tau.n) - 1.0);
    let taus = cells.iter().filter_map(|cell| Some((cells::to_core(&cell.tau_ms)?, degrees(&cell.tau_ms))));
    let worst = taus.max_by(|one, other| share(one).total_cmp(&share(other)));
    worst.map(|(tau, degrees)| (tau.scaled(1e-3), degrees))
}

/// Nothing of a group without a series, or of one that the plan does not have: a sweep names its series by number.
fn group_label(plan: &PlanFile, group: &[usize]) -> String {
    let Some(series) = group.first().and_then(|first| plan.series.get(*first)) else { return String::new() };
    let mut parts = Vec::new();
    if let Some(percent) = series.pool_percent {
        parts.push(format!("pool {percent:.0} %"));
    } else if let Some(bytes) = series.pool_bytes {
        parts.push(format!("pool {} MiB", bytes >> 20));
    }
    if plan.series.iter().any(|other| other.layout != series.layout) {
        parts.push(format!("{} layout", series.layout));
    }
    if parts.is_empty() { series.label.clone() } else { parts.join(", ") }
}

/// Doubts that belong to no single cell.
fn caveats(plan: &PlanFile, runs: &[RunFile], planned: u32) -> Vec<Caveat> {
    let done = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let command = if plan.kind == super::NAME { "profile" } else { "study" };
    let command = format!("evenkeel {command} --resume {}", plan.id);
    let incomplete = Caveat::incomplete(done, planned, plan.rates_known, &command);
    let not_reset = (plan.settings.reset == ResetRecord::Nothing).then(Caveat::not_reset);
    let rises = first_block_rises(plan).then(Caveat::first_block_rises);
    let ends = plan.sweeps.iter().filter_map(|sweep| not_measured(plan, sweep));
    incomplete.into_iter().chain(not_reset).chain(ends).chain(rises).collect()
}

/// Whether sweeps were gone through upwards, and were more than one rate long.
fn first_block_rises(plan: &PlanFile) -> bool {
    let lengths = |sweep: &SweepRecord| {
        plan.cells.iter().filter(|cell| sweep.series.first() == Some(&cell.series)).count()
    };
    plan.sweeps.iter().any(|sweep| lengths(sweep) > 1)
}

fn not_measured(plan: &PlanFile, sweep: &SweepRecord) -> Option<Caveat> {
    let several = groups(plan).len() > 1;
    let series = if several { group_label(plan, &sweep.series) } else { String::new() };
    Caveat::rates_not_measured(&series, &sweep.not_measured_per_s, &sweep.reason)
}
