//! What a stored profile says about loads that it did not measure: servers for an objective, each with its response.

use crate::profile::{cell_of, standing, summarise, trust_limits};
use crate::store::format::{
    BoundsRecord, CellSummary, HeadlineRecord, PlanFile, RunFile, SeriesRecord, Verdict,
};
use evenkeel_core::bounds::Work;
use evenkeel_core::size::{Ends, Measured, Server, SizeError, Sizing, Statistic};
use evenkeel_core::trust::TrustLimit;
use std::collections::BTreeSet;

/// Shorter runs rarely meet a checkpoint or a flush that stalls a server that writes, seconds.
const STALL_S: f64 = 45.0;

/// So many runs of a rate without much other load do without those beside it.
const RUNS_QUIET: usize = 2;

/// One server of a profile: series that differ in the target alone.
#[derive(Clone, Debug)]
pub struct Sized {
    /// Which of several; empty where there is one only.
    pub label: String,
    pub workload: String,
    /// Whether the workload writes while the runs were too short to meet the stalls of a server that flushes.
    pub misses_stalls: bool,
    /// Rates that settled and count for nothing: requests were given up there, or the generator failed in all runs.
    pub spoilt: Vec<f64>,
    /// Runs that count for nothing, since other load was large in them and not in others of their rate.
    pub disturbed: usize,
    pub limit: TrustLimit,
    /// What the server carries, and what a request takes of it.
    pub bounds: BoundsRecord,
    pub server: Result<Server, SizeError>,
    /// The model of each statement of a mix, by its name, or why there is none.
    pub statements: Vec<(String, Result<Sizing, SizeError>)>,
}

/// A rate, and its cells: one of each target.
type AtRate<'a> = (f64, Vec<&'a CellSummary>);

pub fn sized(plan: &PlanFile, runs: &[RunFile]) -> Vec<Sized> {
    let summary = summarise(plan, runs);
    let limits = trust_limits(plan, runs).into_iter().zip(summary.headlines);
    let one = |((group, limit), headline): ((Vec<usize>, TrustLimit), HeadlineRecord)| {
        let bounds = headline.bounds;
        let all = at_rates(&summary.cells, |cell| group.contains(&cell.series));
        let is_settled = |(rate, cells): &AtRate<'_>| settles(*rate, cells, &bounds);
        let (settled, spoilt): (Vec<_>, Vec<_>) = all
            .iter()
            .filter(|at| is_settled(at))
            .cloned()
            .partition(|(_, cells)| cells.iter().all(|cell| cell.valid && !cell.lower_bound));
        let ends = ends(&all, &settled, runs, &bounds);
        let series = group.first().and_then(|first| plan.series.get(*first));
        let is_short = |at: &AtRate<'_>| counting(&at.1, runs).iter().any(|run| run.measured_s < STALL_S);
        Sized {
            misses_stalls: series.is_some_and(|series| series.writes) && settled.iter().all(is_short),
            disturbed: settled
                .iter()
                .map(|(_, cells)| answered(cells, runs).len() - counting(cells, runs).len())
                .sum(),
            spoilt: spoilt.into_iter().map(|(rate, _)| rate).collect(),
            label: headline.label,
            workload: series.map_or_else(String::new, |series| series.workload.clone()),
            server: server(&settled, runs, ends),
            statements: statements(&all, &settled, runs, ends),
            limit,
            bounds,
        }
    };
    limits.map(one).collect()
}

/// Whether the response at a rate counts: all its runs settled, or the rate is known to be carried and no queue grew.
fn settles(rate: f64, cells: &[&CellSummary], bounds: &BoundsRecord) -> bool {
    let is_carried = bounds.at_least_per_s.is_some_and(|least| rate <= least);
    cells.iter().all(|cell| match cell.stability {
        Verdict::Settled => true,
        Verdict::TooShort => is_carried,
        Verdict::Mixed | Verdict::Unstable => false,
    })
}

fn at_rates(cells: &[CellSummary], is_own: impl Fn(&CellSummary) -> bool) -> Vec<AtRate<'_>> {
    let mut found: Vec<AtRate<'_>> = Vec::new();
    for cell in cells.iter().filter(|cell| is_own(cell)) {
        match found.iter_mut().find(|(rate, _)| *rate == cell.rate_per_s) {
            Some((_, own)) => own.push(cell),
            None => found.push((cell.rate_per_s, vec![cell])),
        }
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found
}

fn server(cells: &[AtRate<'_>], runs: &[RunFile], ends: Ends) -> Result<Server, SizeError> {
    let sizing = |figure: Statistic, of: fn(&RunFile) -> Option<f64>| {
        let points: Vec<Measured> = cells.iter().map(|at| measured(at, runs, of)).collect();
        Sizing::of(&points, ends, figure)
    };
    Ok(Server {
        mean: sizing(Statistic::Mean, |run| Some(run.response.measured()?.mean_ms))?,
        p95: sizing(Statistic::P95, |run| Some(run.response.measured()?.p95_ms))?,
        busy: used(cells, runs),
    })
}

/// Mean response of each statement of a mix at the rates that settled; empty of a load of a single one.
fn statements(
    all: &[AtRate<'_>],
    settled: &[AtRate<'_>],
    runs: &[RunFile],
    ends: Ends,
) -> Vec<(String, Result<Sizing, SizeError>)> {
    let own = all.iter().flat_map(|(_, cells)| counting(cells, runs));
    let names: BTreeSet<&str> = own.flat_map(|run| &run.statements).map(|kind| kind.name.as_str()).collect();
    if names.len() < 2 {
        return Vec::new();
    }
    let model = |name: &str| {
        let mean_ms = |run: &RunFile| {
            let kind = run.statements.iter().find(|kind| kind.name == name)?;
            Some(kind.times.measured()?.mean_ms)
        };
        let points: Vec<_> = settled.iter().map(|at| measured(at, runs, mean_ms)).collect();
        (name.to_owned(), Sizing::of(&points, ends, Statistic::Mean))
    };
    names.into_iter().map(model).collect()
}

/// The runs of cells that count; several targets are as several runs. Runs beside much other load count only where others are fewer
/// than [`RUNS_QUIET`].
fn counting<'a>(cells: &[&CellSummary], runs: &'a [RunFile]) -> Vec<&'a RunFile> {
    let all = answered(cells, runs);
    let quiet: Vec<&RunFile> = all.iter().filter(|run| !run.disturbance().is_too_large()).copied().collect();
    if quiet.len() < RUNS_QUIET { all } else { quiet }
}

fn answered<'a>(cells: &[&CellSummary], runs: &'a [RunFile]) -> Vec<&'a RunFile> {
    let own = |cell: &&CellSummary| runs.iter().filter(|run| run.cell == cell.cell).collect::<Vec<_>>();
    cells.iter().flat_map(|cell| standing(&own(cell))).filter(|run| !run.lower_bound).collect()
}

/// A figure, in ms, of each run at a rate.
fn measured((rate, cells): &AtRate<'_>, runs: &[RunFile], of: impl Fn(&RunFile) -> Option<f64>) -> Measured {
    let seen: Vec<(f64, f64)> =
        counting(cells, runs).into_iter().filter_map(|run| Some((run.measured_s, of(run)? / 1e3))).collect();
    let seconds = seen.iter().map(|(seconds, _)| seconds).sum::<f64>() / seen.len() as f64;
    Measured { rate: *rate, seconds, responses: seen.into_iter().map(|(_, response)| response).collect() }
}

/// The end of the server, by the bounds and by the CPU time of a request.
fn ends(all: &[AtRate<'_>], settled: &[AtRate<'_>], runs: &[RunFile], bounds: &BoundsRecord) -> Ends {
    let highest = settled.last().map(|(rate, _)| *rate);
    Ends {
        cpus: cpus(all, runs),
        at_least: bounds.at_least_per_s.or(highest),
        at_most: bounds.at_most_per_s,
        // The rate at which the CPUs are full, by the runs that complete at least half as much as the busiest.
        full_at: Work::of(&used(all, runs)).map(|work| 1.0 / work.per_request),
        drift: bounds.cpu.as_ref().and_then(|cpu| cpu.varies_percent).unwrap_or(0.0) / 100.0,
    }
}

/// Completions per second and utilisation from 0 to 1 of each run.
fn used(cells: &[AtRate<'_>], runs: &[RunFile]) -> Vec<(f64, f64)> {
    let own = cells.iter().flat_map(|(_, cells)| counting(cells, runs));
    own.filter_map(|run| Some((run.throughput_per_s, run.theta.as_ref()?.total_percent / 100.0))).collect()
}

fn cpus(cells: &[AtRate<'_>], runs: &[RunFile]) -> f64 {
    let is_own = |run: &&RunFile| cells.iter().any(|(_, own)| own.iter().any(|cell| cell.cell == run.cell));
    let own = || runs.iter().filter(is_own);
    let by_quota = own().filter_map(|run| run.neighbours.as_ref()?.quota_cpus).reduce(f64::min);
    let by_theta = own().filter_map(|run| Some(run.theta.as_ref()?.cpus)).reduce(f64::max);
    by_theta.into_iter().chain(by_quota).reduce(f64::min).unwrap_or(1.0)
}

/// Adds what another profile measured: its rates, and its runs as further ones. False, and nothing is added, where it has other series,
/// servers or statements.
pub fn join(plan: &mut PlanFile, runs: &mut Vec<RunFile>, other: &PlanFile, more: Vec<RunFile>) -> bool {
    let urls = |plan: &PlanFile| plan.targets.iter().map(|target| target.url.clone()).collect::<Vec<_>>();
    let is_same = |(one, another): (&SeriesRecord, &SeriesRecord)| {
        one.label == another.label && one.same_but_target(another)
    };
    let are_same = plan.series.len() == other.series.len()
        && plan.series.iter().zip(&other.series).all(is_same)
        && (urls(plan), plan.file_crc32) == (urls(other), other.file_crc32);
    for mut run in more.into_iter().filter(|_| are_same) {
        let Some(cell) = other.cells.iter().find(|cell| cell.id == run.cell) else { continue };
        run.cell = cell_of(plan, cell.series, cell.rate_per_s).id;
        let last = runs.iter().filter(|own| own.cell == run.cell).map(|own| own.repeat).max();
        run.repeat = last.unwrap_or(0) + 1;
        runs.push(run);
    }
    are_same
}
