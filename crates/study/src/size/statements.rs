//! Models of each statement of a mix.

use crate::profile::standing;
use crate::store::format::{CellSummary, KindRecord, RunFile};
use evenkeel_core::size::{Basis, Measured, Sizing};
use evenkeel_core::statistics::Estimate;

/// Those statements of a mix whose response is known well enough at enough rates; empty of a load of a single one.
pub(super) fn statements(
    cells: &[(f64, Vec<&CellSummary>)],
    runs: &[RunFile],
    basis: Basis,
) -> Vec<(String, Sizing)> {
    let is_own = |run: &&RunFile| cells.iter().any(|(_, own)| own.iter().any(|cell| cell.cell == run.cell));
    let kinds = runs.iter().filter(is_own).flat_map(|run| &run.statements);
    let mut names: Vec<&str> = kinds.map(|kind| kind.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 {
        return Vec::new();
    }
    let full = super::full(cells, basis.limit);
    let model = |name: &str| {
        let at = |(rate, cells): &(f64, Vec<&CellSummary>)| {
            let known = full.iter().find(|(own, _)| own == rate);
            Some(Measured { full_at: known.map(|(_, full)| *full), ..point(name, *rate, cells, runs)? })
        };
        let points: Vec<Measured> = cells.iter().filter_map(at).collect();
        Some((name.to_owned(), Sizing::of(&points, basis).ok()?))
    };
    names.into_iter().filter_map(model).collect()
}

/// The mean response of a statement at a rate, over the runs that asked it.
fn point(name: &str, rate: f64, cells: &[&CellSummary], runs: &[RunFile]) -> Option<Measured> {
    let own: Vec<&RunFile> =
        runs.iter().filter(|run| cells.iter().any(|cell| cell.cell == run.cell)).collect();
    let named = |run: &&RunFile| -> Option<f64> {
        let kind: &KindRecord = run.statements.iter().find(|kind| kind.name == name)?;
        Some(kind.times.measured()?.mean_ms)
    };
    let means: Vec<f64> = standing(&own).iter().filter_map(named).collect();
    let found = Estimate::of(&means)?;
    Some(Measured {
        rate,
        response: found.mean / 1e3,
        error: found.standard_error()? / found.mean,
        full_at: None,
    })
}
