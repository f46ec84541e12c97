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

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(count: u32) -> Vec<CellRecord> {
        (1..=count).map(|id| CellRecord { id, series: 0, rate_per_s: f64::from(id) }).collect()
    }

    #[test]
    fn a_block_holds_every_cell_once() {
        let mut ids: Vec<u32> = block(&cells(20), Seed(1), 1).iter().map(|cell| cell.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    }

    #[test]
    fn blocks_differ_and_can_be_repeated() {
        let cells = cells(20);
        assert_ne!(block(&cells, Seed(1), 1), block(&cells, Seed(1), 2));
        assert_ne!(block(&cells, Seed(1), 1), block(&cells, Seed(2), 1));
        assert_eq!(block(&cells, Seed(1), 1), block(&cells, Seed(1), 1));
    }
}
