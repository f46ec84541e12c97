//! What a stored profile says of loads that it did not measure: servers for an objective, each with its response.

mod start;
mod statements;

use crate::profile::{summarise, trust_limits};
use crate::store::format::{CellSummary, EstimateRecord, PlanFile, RunFile};
use evenkeel_core::size::{Basis, Measured, Server, SizeError, Sizing};
use evenkeel_core::trust::TrustLimit;
pub use start::{Busy, Start, start};
use statements::statements;

/// Share of the highest trusted rate from which runs say what a request takes of the CPUs.
const BUSY_FROM: f64 = 0.5;

/// One server of a profile: series that differ in the target alone.
#[derive(Clone, Debug)]
pub struct Sized {
    /// Which of several; empty where there is one only.
    pub label: String,
    /// Name of its workload.
    pub workload: String,
    /// How far the profile is trusted.
    pub limit: TrustLimit,
    /// Trusted rates with a response and its error.
    pub rates: usize,
    /// Its models, or why there are none.
    pub server: Result<Server, SizeError>,
    /// The models of each statement of a mix, by its name.
    pub statements: Vec<(String, Sizing)>,
}

/// All servers of a profile.
pub fn sized(plan: &PlanFile, runs: &[RunFile]) -> Vec<Sized> {
    let summary = summarise(plan, runs);
    let limits = trust_limits(plan, runs).into_iter();
    let one = |(at, (group, limit)): (usize, (Vec<usize>, TrustLimit))| {
        let cells = trusted(&summary.cells, &group, &limit);
        let basis = basis(&cells, runs, &limit);
        let taus = points(&cells, |cell| &cell.tau_ms);
        let series = group.first().and_then(|first| plan.series.get(*first));
        Sized {
            label: summary.headlines.get(at).map_or_else(String::new, |headline| headline.label.clone()),
            workload: series.map_or_else(String::new, |series| series.workload.clone()),
            rates: taus.len(),
            server: server(&taus, &cells, basis),
            statements: statements(&cells, runs, basis),
            limit,
        }
    };
    limits.enumerate().map(one).collect()
}

/// Cells of a group at each rate that is trusted, by rising rate.
fn trusted<'a>(
    cells: &'a [CellSummary],
    group: &[usize],
    limit: &TrustLimit,
) -> Vec<(f64, Vec<&'a CellSummary>)> {
    let Some(highest) = limit.rate else { return Vec::new() };
    let is_overlooked = |rate: f64| limit.overlooked.iter().any(|untrusted| untrusted.rate == rate);
    let mut found: Vec<(f64, Vec<&CellSummary>)> = Vec::new();
    for cell in cells.iter().filter(|cell| group.contains(&cell.series) && cell.rate_per_s <= highest) {
        match found.iter_mut().find(|(rate, _)| *rate == cell.rate_per_s) {
            _ if is_overlooked(cell.rate_per_s) => {}
            Some((_, own)) => own.push(cell),
            None => found.push((cell.rate_per_s, vec![cell])),
        }
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found
}

fn server(taus: &[Measured], cells: &[(f64, Vec<&CellSummary>)], basis: Basis) -> Result<Server, SizeError> {
    let full = full(cells, basis.limit);
    let with_full = |points: &[Measured]| -> Vec<Measured> {
        let at = |rate: f64| full.iter().find(|(own, _)| *own == rate).map(|(_, full)| *full);
        points.iter().map(|point| Measured { full_at: at(point.rate), ..*point }).collect()
    };
    Ok(Server {
        tau: Sizing::of(&with_full(taus), basis)?,
        p95: Sizing::of(&with_full(&points(cells, |cell| &cell.p95_ms)), basis),
        busy: busy(cells),
    })
}

/// A response at each rate, in seconds: over several targets their mean, with an error that covers what they differ by.
fn points(cells: &[(f64, Vec<&CellSummary>)], of: fn(&CellSummary) -> &EstimateRecord) -> Vec<Measured> {
    cells.iter().filter_map(|(rate, cells)| point(*rate, cells, of)).collect()
}

fn point(rate: f64, cells: &[&CellSummary], of: fn(&CellSummary) -> &EstimateRecord) -> Option<Measured> {
    let count = cells.len() as f64;
    let mut squares = 0.0;
    let mut sum = 0.0;
    for cell in cells {
        let figure = of(cell);
        squares += (figure.se? / figure.mean).powi(2);
        sum += figure.mean;
    }
    let mean = sum / count;
    let apart = cells.iter().map(|cell| (of(cell).mean / mean - 1.0).powi(2)).sum::<f64>() / count;
    let found =
        Measured { rate, response: mean / 1e3, error: (squares / count + apart).sqrt(), full_at: None };
    (found.response > 0.0 && found.error.is_finite()).then_some(found)
}

/// Rate and utilisation from 0 to 1.
fn busy(cells: &[(f64, Vec<&CellSummary>)]) -> Vec<(f64, f64)> {
    let theta = |cells: &[&CellSummary]| {
        let seen: Vec<f64> = cells
            .iter()
            .filter(|cell| cell.theta_percent.n > 0)
            .map(|cell| cell.theta_percent.mean)
            .collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64 / 100.0)
    };
    cells.iter().filter_map(|(rate, cells)| Some((*rate, theta(cells)?))).collect()
}

/// Each rate with the one at which the CPUs would be full by its work. At little load a server's own work counts as that of its few
/// requests.
fn full(cells: &[(f64, Vec<&CellSummary>)], highest: f64) -> Vec<(f64, f64)> {
    let enough = busy(cells).into_iter().filter(|(rate, busy)| *rate >= BUSY_FROM * highest && *busy > 0.0);
    enough.map(|(rate, busy)| (rate, rate / busy)).collect()
}

fn basis(cells: &[(f64, Vec<&CellSummary>)], runs: &[RunFile], limit: &TrustLimit) -> Basis {
    let is_own = |run: &&RunFile| cells.iter().any(|(_, own)| own.iter().any(|cell| cell.cell == run.cell));
    let own = || runs.iter().filter(is_own);
    let by_quota = own().filter_map(|run| run.neighbours.as_ref()?.quota_cpus).reduce(f64::min);
    let by_theta = own().filter_map(|run| Some(run.theta.as_ref()?.cpus)).reduce(f64::max);
    let highest = limit.rate.unwrap_or(0.0);
    let full: Vec<f64> = full(cells, highest).into_iter().map(|(_, full)| full).collect();
    Basis {
        cpus: by_theta.into_iter().chain(by_quota).reduce(f64::min).unwrap_or(1.0),
        full_at: (!full.is_empty()).then(|| full.iter().sum::<f64>() / full.len() as f64),
        limit: highest,
    }
}

#[cfg(test)]
mod tests;
