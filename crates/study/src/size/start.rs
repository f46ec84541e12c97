//! The limit from which a guard in front of the profiled server sets out.

use super::{basis, busy, points, trusted};
use crate::profile::{summarise, trust_limits};
use crate::store::format::{CellSummary, PlanFile, RunFile};
use evenkeel_core::size::SizeError;
use evenkeel_core::trust::TrustLimit;

/// Where a guard begins, and what that follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The limit that the guard begins with.
    pub limit: u32,
    /// The highest rate that the profile trusts, per second.
    pub rate: f64,
    /// Mean response there, seconds.
    pub tau: f64,
    /// Requests under way there in the mean.
    pub in_flight: f64,
    /// CPUs of the server; `None` where they were not seen.
    pub cpus: Option<f64>,
}

/// By Little's law (Oper. Res. 9 (1961) 383): at the highest rate at which the response is still to be trusted, which is where the knee of its
/// curve lies, `rate tau` requests are under way in the mean. No fewer than there are CPUs, as fewer leave some of them idle. Of a
/// profile of several servers, or levels, the least counts: a guard that begins low finds its way up, and one that begins high does harm.
///
/// # Errors
/// The profile trusts no rate.
pub fn start(plan: &PlanFile, runs: &[RunFile]) -> Result<Start, SizeError> {
    let cells = summarise(plan, runs).cells;
    let all = trust_limits(plan, runs).into_iter();
    let starts: Vec<Start> = all
        .filter_map(|(group, limit)| of_group(&trusted(&cells, &group, &limit), runs, &limit).ok())
        .collect();
    starts.into_iter().min_by_key(|start| start.limit).ok_or(SizeError::NothingTrusted)
}

fn of_group(
    rates: &[(f64, Vec<&CellSummary>)],
    runs: &[RunFile],
    limit: &TrustLimit,
) -> Result<Start, SizeError> {
    let knee = points(rates, |cell| &cell.tau_ms).into_iter().last().ok_or(SizeError::NothingTrusted)?;
    let in_flight = knee.rate * knee.response;
    // A server may use fewer CPUs than it may run on, where it has a quota.
    let cpus = (!busy(rates).is_empty()).then(|| basis(rates, runs, limit).cpus);
    let least = cpus.unwrap_or(1.0).max(1.0);
    let limit = in_flight.max(least).ceil().min(f64::from(u32::MAX)) as u32;
    Ok(Start { limit, rate: knee.rate, tau: knee.response, in_flight, cpus })
}
