//! The model of each statement of a mix.

use super::{counting, measured};
use crate::store::format::{CellSummary, RunFile};
use evenkeel_core::size::{Ends, Figure, SizeError, Sizing};
use std::collections::BTreeSet;

/// Mean response of each statement of a mix at the rates that settled; empty of a load of a single one.
pub(super) fn statements(
    all: &[(f64, Vec<&CellSummary>)],
    settled: &[(f64, Vec<&CellSummary>)],
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
        (name.to_owned(), Sizing::of(&points, ends, Figure::Mean))
    };
    names.into_iter().map(model).collect()
}
