//! One side of a comparison: a study, or one of its cells.

use super::error::CompareError;
use super::figure::Figure;
use crate::profile::{self, overload_throughputs, stands, summarise};
use crate::store::format::{Caveat, CellSummary, PlanFile, RunFile, SummaryFile, Verdict};
use crate::store::{StoreError, StudyFolder};

/// The name of a side: a study, and perhaps a cell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellName {
    /// As [`crate::store::resolve`] takes it.
    pub study: String,
    /// Number of the cell.
    pub cell: Option<u32>,
}

impl CellName {
    /// Reads `last`, `last:c03` or `last:3`.
    pub fn parse(text: &str) -> Self {
        let split = text
            .rsplit_once(':')
            .and_then(|(study, cell)| Some((study, cell.strip_prefix('c').unwrap_or(cell).parse().ok()?)));
        match split {
            Some((study, cell)) => Self { study: study.to_owned(), cell: Some(cell) },
            None => Self { study: text.to_owned(), cell: None },
        }
    }
}

/// Code of the caveat that runs are still to come.
const INCOMPLETE: &str = "incomplete";

/// A study that was read, with what follows from its runs by this version.
#[derive(Clone, Debug)]
pub struct Side {
    plan: PlanFile,
    runs: Vec<RunFile>,
    summary: SummaryFile,
    cell: Option<u32>,
    /// Those of its series that are compared, in the order of the other side's.
    series: Vec<usize>,
}

impl Side {
    /// # Errors
    /// A file cannot be read.
    pub fn read(folder: &StudyFolder, cell: Option<u32>) -> Result<Self, StoreError> {
        Ok(Self::of(folder.plan()?, folder.runs()?, cell))
    }

    /// From what stands in the files.
    pub fn of(plan: PlanFile, runs: Vec<RunFile>, cell: Option<u32>) -> Self {
        Self { summary: summarise(&plan, &runs), series: (0..plan.series.len()).collect(), plan, runs, cell }
    }

    /// The same study, of which these series alone are compared.
    pub fn of_series(self, series: Vec<usize>) -> Self {
        Self { series, ..self }
    }

    /// # Errors
    /// The study has no such cell.
    pub fn checked(self) -> Result<Self, CompareError> {
        match self.cell {
            Some(cell) if self.cell().is_none() => Err(CompareError::NoCell { study: self.plan.id, cell }),
            _ => Ok(self),
        }
    }

    /// Name of the study.
    pub fn name(&self) -> &str {
        &self.plan.id
    }

    /// The plan of the study.
    pub fn plan(&self) -> &PlanFile {
        &self.plan
    }

    /// That runs of it are still to come: of the study, or of the cell that is compared.
    pub fn unfinished(&self) -> Option<&Caveat> {
        let is_whole = |cell: &CellSummary| {
            let made = self.runs.iter().filter(|run| run.cell == cell.cell).count();
            made >= self.plan.settings.repeats as usize
        };
        let caveat = self.summary.caveats.iter().find(|caveat| caveat.code == INCOMPLETE);
        caveat.filter(|_| !self.cell().is_some_and(is_whole))
    }

    pub(super) fn cell(&self) -> Option<&CellSummary> {
        self.summary.cells.iter().find(|cell| Some(cell.cell) == self.cell)
    }

    pub(super) fn series(&self) -> &[usize] {
        &self.series
    }

    pub(super) fn label(&self, series: usize) -> &str {
        self.plan.series.get(series).map_or("", |series| &series.label)
    }

    /// What is asked of the series that are compared, or of that of the cell; each once.
    pub(super) fn workloads(&self) -> Vec<&str> {
        let of_cell = self.cell().map(|cell| vec![cell.series]);
        let series = of_cell.unwrap_or_else(|| self.series.clone());
        let mut names: Vec<&str> = series
            .into_iter()
            .filter_map(|at| self.plan.series.get(at))
            .map(|own| own.workload.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn cells_of(&self, series: usize) -> impl Iterator<Item = &CellSummary> {
        self.summary.cells.iter().filter(move |cell| cell.series == series)
    }

    /// The runs of a cell in which the generator did not fail.
    pub(super) fn standing(&self, cell: &CellSummary) -> impl Iterator<Item = &RunFile> {
        let id = cell.cell;
        self.runs.iter().filter(move |run| run.cell == id && stands(run))
    }

    /// The figures of the runs that are compared.
    pub(super) fn figures(&self, cell: &CellSummary, figure: Figure) -> Vec<f64> {
        self.standing(cell).filter_map(|run| figure.of(run)).collect()
    }

    /// Completions per second of each run that kept the server busy throughout.
    pub(super) fn overload(&self, series: usize) -> Vec<f64> {
        overload_throughputs(&self.plan, &self.runs, series)
    }

    pub(super) fn settled_rates(&self) -> Vec<f64> {
        let settled = self.summary.cells.iter().filter(|cell| cell.stability == Verdict::Settled);
        let mut rates: Vec<f64> = settled.map(|cell| cell.rate_per_s).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup_by(|one, other| profile::is_same_rate(*one, *other));
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_study_or_a_cell_of_one() {
        let name = |study: &str, cell| CellName { study: study.to_owned(), cell };
        assert_eq!(CellName::parse("last"), name("last", None));
        assert_eq!(CellName::parse("last:c03"), name("last", Some(3)));
        assert_eq!(CellName::parse("/runs/a:b:12"), name("/runs/a:b", Some(12)));
        assert_eq!(CellName::parse("C:here"), name("C:here", None));
    }
}
