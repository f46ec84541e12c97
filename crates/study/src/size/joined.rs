//! Several profiles of the same server and workload as one.

use crate::profile::cell_of;
use crate::store::format::{PlanFile, RunFile, SeriesRecord};

/// Adds what another profile measured: its rates, and its runs as further ones. False, and nothing is added, where it has other series,
/// servers or statements.
pub fn join(plan: &mut PlanFile, runs: &mut Vec<RunFile>, other: &PlanFile, more: Vec<RunFile>) -> bool {
    let urls = |plan: &PlanFile| plan.targets.iter().map(|target| target.url.clone()).collect::<Vec<_>>();
    let is_same = |(one, another): (&SeriesRecord, &SeriesRecord)| {
        one.label == another.label && one.same_but_target(another)
    };
    let are_same = plan.series.len() == other.series.len()
        && plan.series.iter().zip(&other.series).all(is_same)
        && (urls(plan), plan.file_crc32) == (urls(other), other.file_crc32);
    for mut run in more.into_iter().filter(|_| are_same) {
        let Some(cell) = other.cells.iter().find(|cell| cell.id == run.cell) else { continue };
        run.cell = cell_of(plan, cell.series, cell.rate_per_s).id;
        let last = runs.iter().filter(|own| own.cell == run.cell).map(|own| own.repeat).max();
        run.repeat = last.unwrap_or(0) + 1;
        runs.push(run);
    }
    are_same
}
