//! In which order cells are run.

use crate::store::format::{CellRecord, PlanFile};
use evenkeel_core::experiment::shuffled;
use evenkeel_core::random::Seed;

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
