//! Rates are gone through upwards, until the server carries no more.

use super::judge;
use crate::store::format::{CellRecord, RunFile};
use evenkeel_core::rates::{CellOutcome, Sweep};

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
