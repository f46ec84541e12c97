//! From the first server to the last run.

use super::event::Tell;
use super::site::Site;
use super::spec::StudySpec;
use super::{StudyError, StudyEvent, order, summary};
use crate::store::StudyFolder;
use crate::store::format::{CaveatRecord, CellRecord, PlanFile, RunFile, SummaryFile};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;

/// What a run costs besides its load: server up and down, on a small machine. Only for the time that is told.
const OVERHEAD: Nanos = Nanos::from_secs(3);

/// Measures what is missing in the folder and returns what follows from all of it. On Ctrl-C the run in progress
/// is given up and the summary is that of the finished ones, marked incomplete.
pub fn run(
    spec: &StudySpec,
    folder: &StudyFolder,
    stop: &Stop,
    tell: &mut dyn FnMut(StudyEvent),
) -> Result<SummaryFile, StudyError> {
    let mut study = Study {
        clock: Clock::start(),
        sites: spec.sites.iter().map(Site::new).collect(),
        plan: folder.plan()?,
        runs: folder.runs()?,
        cells_told: 0,
        caveats: Vec::new(),
        spec,
        folder,
        stop,
    };
    let outcome = study.all(tell);
    let down = study.all_down(tell);
    match outcome {
        Ok(()) => down?,
        Err(error) if error.is_stop() => down?,
        Err(error) => return Err(error),
    }
    let summary = summary::summarise(&study.plan, &study.runs);
    folder.write_summary(&summary)?;
    tell(StudyEvent::Ends(Box::new(summary.clone())));
    Ok(summary)
}

/// A study under way.
pub(super) struct Study<'a> {
    pub spec: &'a StudySpec,
    pub folder: &'a StudyFolder,
    pub stop: &'a Stop,
    pub sites: Vec<Site<'a>>,
    pub plan: PlanFile,
    /// Since the start, or the resume.
    pub clock: Clock,
    /// Those that stand, with the attempts that were set aside for them.
    pub runs: Vec<RunFile>,
    /// Doubts that hold for every run.
    pub caveats: Vec<CaveatRecord>,
    /// Cells when the plan was told last.
    cells_told: usize,
}

impl Study<'_> {
    fn all(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        self.prepare(tell)?;
        if let Some(budget) = self.spec.budget {
            return self.sequence(budget, tell);
        }
        if !self.plan.rates_known {
            self.find_rates(tell)?;
        }
        self.tell_plan(tell);
        for block in 1..=self.spec.repeats {
            let cells = order::block(&self.plan.cells, self.spec.seed, block);
            for cell in &cells {
                self.cell(cell, block, tell)?;
            }
            self.measure_again(&cells, block, tell)?;
        }
        Ok(())
    }

    fn all_down(&mut self, tell: Tell<'_>) -> Result<(), StudyError> {
        self.sites.iter_mut().map(|site| site.leave(&self.plan.id, tell)).fold(Ok(()), Result::and)
    }

    pub(super) fn runs_planned(&self) -> u32 {
        match self.spec.budget {
            Some(budget) => self.runs_expected(budget),
            None => {
                u32::try_from(self.plan.cells.len()).unwrap_or(u32::MAX).saturating_mul(self.spec.repeats)
            }
        }
    }

    pub(super) fn time_left(&self) -> Nanos {
        if self.spec.budget.is_some() {
            let left = u64::from(self.runs_planned()).saturating_sub(self.runs.len() as u64);
            return Nanos(self.run_cost().0.saturating_mul(left));
        }
        let left = |cell: &CellRecord| {
            let done = self.runs.iter().filter(|run| run.cell == cell.id).count() as u64;
            let cost = self.cell_cost(cell);
            Nanos(cost.0.saturating_mul(u64::from(self.spec.repeats).saturating_sub(done)))
        };
        self.plan.cells.iter().fold(Nanos::ZERO, |sum, cell| sum + left(cell))
    }

    /// How long a run of a cell takes, roughly.
    pub(super) fn cell_cost(&self, cell: &CellRecord) -> Nanos {
        let phases = self.phases(cell);
        phases.warm_up + phases.measure + OVERHEAD
    }

    /// How long a run takes that lasts as long as was asked, roughly.
    pub(super) fn run_cost(&self) -> Nanos {
        self.spec.warm_up + self.spec.duration + OVERHEAD
    }

    /// Tells the plan where it has changed since it was told last.
    pub(super) fn tell_plan(&mut self, tell: Tell<'_>) {
        if self.cells_told == self.plan.cells.len() {
            return;
        }
        self.cells_told = self.plan.cells.len();
        tell(StudyEvent::Planned {
            folder: self.folder.path().to_owned(),
            cells: self.plan.cells.len(),
            runs: self.runs_planned(),
            done: u32::try_from(self.runs.len()).unwrap_or(u32::MAX),
            time_left: self.time_left(),
        });
    }
}
