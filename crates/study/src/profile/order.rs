//! In which order cells are run; rates are gone through upwards, until the server carries no more.

use super::judge;
use crate::store::format::{CellRecord, PlanFile, RunFile};
use evenkeel_core::experiment::shuffled;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::{CellOutcome, Sweep};

/// The cells in random order: one block, so that what drifts with time meets every cell alike. The same
/// seed and block give the same order, also after a resume.
pub fn block(cells: &[CellRecord], seed: Seed, number: u32) -> Vec<CellRecord> {
    shuffled(cells.to_vec(), seed.child("order").numbered(u64::from(number)))
}

/// The cell of this series and rate, added to the plan where it is new.
pub fn cell_of(plan: &mut PlanFile, series: usize, rate_per_s: f64) -> CellRecord {
    let known =
        plan.cells.iter().find(|cell| cell.series == series && is_same_rate(cell.rate_per_s, rate_per_s));
    if let Some(cell) = known {
        return cell.clone();
    }
    let id = plan.cells.iter().map(|cell| cell.id + 1).max().unwrap_or(1);
    let cell = CellRecord { id, series, rate_per_s };
    plan.cells.push(cell.clone());
    cell
}

/// A number of a plan that was read back may differ in its last bit.
pub fn is_same_rate(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs()
}

/// The way up of series that differ in the target alone: targets are compared rate by rate, so they share their
/// rates, and where one of them carries no more the sweep ends for all.
pub(super) struct Climb {
    pub series: Vec<usize>,
    pub sweep: Sweep,
}

/// All series side by side, so that what drifts with time meets them alike.
pub(super) struct Climbs {
    pub open: Vec<Climb>,
    /// How many rates of each were begun, from 1.
    pub step: u32,
}

impl Climb {
    /// Takes in what the cells of a step brought, by their deciding runs.
    pub(super) fn observe(&mut self, runs: &[(CellRecord, &RunFile)]) {
        let own = runs.iter().filter(|(cell, _)| self.series.contains(&cell.series));
        if let Some(outcome) = own.map(|(_, run)| outcome(run)).reduce(worse) {
            self.sweep.observe(&outcome);
        }
    }
}

/// Whether a run says that the server carries no more.
pub(super) fn fails(run: &RunFile) -> bool {
    !judge::kept_up(run) || judge::refused(run)
}

fn outcome(run: &RunFile) -> CellOutcome {
    CellOutcome {
        utilisation: run.theta.as_ref().map(|theta| theta.total_percent),
        settled: judge::kept_up(run),
        refused: judge::refused(run),
    }
}

/// What two targets brought at one rate, as what ends the sweep for both.
fn worse(one: CellOutcome, other: CellOutcome) -> CellOutcome {
    CellOutcome {
        utilisation: one.utilisation.into_iter().chain(other.utilisation).reduce(f64::max),
        settled: one.settled && other.settled,
        refused: one.refused || other.refused,
    }
}
