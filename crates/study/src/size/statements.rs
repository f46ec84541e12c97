//! The model of each statement of a mix.

use super::{counting, measured};
use crate::store::format::{CellSummary, RunFile};
use evenkeel_core::size::{Ends, Figure, Sizing};
use std::collections::BTreeSet;

/// Mean response of each statement of a mix; empty of a load of a single one.
pub(super) fn statements(
    cells: &[(f64, Vec<&CellSummary>)],
    runs: &[RunFile],
    ends: Ends,
) -> Vec<(String, Sizing)> {
    let own = cells.iter().flat_map(|(_, cells)| counting(cells, runs));
    let names: BTreeSet<&str> = own.flat_map(|run| &run.statements).map(|kind| kind.name.as_str()).collect();
    if names.len() < 2 {
        return Vec::new();
    }
    let model = |name: &str| {
        let mean_ms = |run: &RunFile| {
            let kind = run.statements.iter().find(|kind| kind.name == name)?;
            Some(kind.times.measured()?.mean_ms)
        };
        let points: Vec<_> = cells.iter().map(|at| measured(at, runs, mean_ms)).collect();
        Some((name.to_owned(), Sizing::of(&points, ends, Figure::Mean).ok()?))
    };
    names.into_iter().filter_map(model).collect()
}
