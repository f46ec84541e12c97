//! The limit from which a guard in front of the profiled server sets out.

use super::{busy, cpus, full_at, trusted};
use crate::profile::{summarise, trust_limits};
use crate::store::format::{CellSummary, PlanFile, RunFile};
use evenkeel_core::size::SizeError;

/// How many times as many transactions as would keep the CPUs busy if none ever waited for another one: a slot that waits for a client, a lock
/// or its turn at a CPU leaves one idle.
const ROOM: f64 = 2.0;

/// Share of the CPUs that a server uses at the highest trusted rate, or of its time that a request works, where CPUs are what a server runs
/// out of.
const HALF: f64 = 0.5;

/// Where no rate is trusted.
const NOTHING: SizeError = SizeError::NothingTrusted;

/// Where a guard begins, and what that follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    pub limit: u32,
    /// The highest rate that the profile trusts, per second.
    pub rate: f64,
    /// Mean response there, seconds.
    pub tau: f64,
    /// Requests under way there in the mean.
    pub in_flight: f64,
    /// What keeps the CPUs busy; `None` where they were not seen, or are not what the server runs out of.
    pub busy: Option<Busy>,
}

/// What keeps the CPUs of a server busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// Response time where little is under way, seconds.
    pub alone: f64,
    /// The rate at which the CPUs are full, by the work of a request, per second.
    pub full_at: f64,
}

impl Busy {
    /// Requests under way that would fill the CPUs if none waited for another one: the saturation point `N* = R / D` of operational
    /// analysis, where `R` is the response alone and `D` the work of a request over all CPUs (Denning and Buzen, Computing Surveys 10 (1978) 225).
    pub fn saturates_at(&self) -> f64 {
        self.alone * self.full_at
    }
}

/// Twice what would fill the CPUs, by the work of a request and its response where little is under way, where these are what the server runs out of;
/// or, where that is more, what is under way in the mean at the highest rate that is trusted, `rate tau` by Little's law (Oper. Res. 9 (1961)
/// 383); and no fewer than there are CPUs. Of a profile of several servers,
/// or levels, the least counts: a guard that begins low finds its way up, and one that begins high does harm.
pub fn start(plan: &PlanFile, runs: &[RunFile]) -> Result<Start, SizeError> {
    let cells = summarise(plan, runs).cells;
    let all = trust_limits(plan, runs).into_iter();
    let starts: Vec<Start> =
        all.filter_map(|(group, limit)| of_group(&trusted(&cells, &group, &limit), runs).ok()).collect();
    starts.into_iter().min_by_key(|start| start.limit).ok_or(NOTHING)
}

fn of_group(rates: &[(f64, Vec<&CellSummary>)], runs: &[RunFile]) -> Result<Start, SizeError> {
    let tau = |(rate, cells): &(f64, Vec<&CellSummary>)| {
        let sum = cells.iter().map(|cell| cell.tau_ms.mean / 1e3).sum::<f64>();
        Some((*rate, sum / cells.len() as f64)).filter(|(_, tau)| *tau > 0.0)
    };
    let taus: Vec<(f64, f64)> = rates.iter().filter_map(tau).collect();
    let ((_, alone), (rate, tau)) = taus.first().copied().zip(taus.last().copied()).ok_or(NOTHING)?;
    let (in_flight, used) = (rate * tau, busy(rates));
    let cpus = if used.is_empty() { 1.0 } else { cpus(rates, runs).max(1.0) };
    // Where something else ends first, such as the disk, what would fill the CPUs is far too much. A request that works for most of its time
    // runs out of CPUs, also where the profile is not trusted as far as that.
    let is_used = used.last().is_some_and(|(_, used)| *used >= HALF);
    let busy = full_at(rates, runs).map(|full_at| Busy { alone, full_at });
    let busy = busy.filter(|busy| is_used || cpus >= HALF * busy.saturates_at());
    let fills = busy.map_or(cpus, |busy| ROOM * busy.saturates_at());
    let limit = in_flight.max(fills).ceil().min(f64::from(u32::MAX)) as u32;
    Ok(Start { limit, rate, tau, in_flight, busy })
}
