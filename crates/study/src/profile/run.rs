//! From the first server to the last run.

use super::length::phases;
use super::order::Climbs;
use super::site::Site;
use super::spec::{Budget, StudySpec, hold};
use super::{Notify, StudyError, StudyEvent, order, summary};
use crate::harness::{Block, Course, go_through, is_course_complete};
use crate::store::format::{Caveat, CellRecord, FORMAT, PlanFile, RunFile, SummaryFile, WrittenFile};
use crate::store::{StoreError, StudyFolder};
use evenkeel_core::Nanos;
use evenkeel_core::disturbance::{Disturbance, repeats_allowed};
use evenkeel_lab::load::Written;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::collections::{BTreeSet, VecDeque};

/// What a run costs besides its load: server up and down, on a small machine. Only for the time that is told.
pub const OVERHEAD: Nanos = Nanos::from_secs(3);

/// Measures what is missing in the folder and returns what follows from all of it. On Ctrl-C the run in progress
/// is given up and the summary is that of the finished ones, marked incomplete.
pub fn run(
    spec: &StudySpec,
    folder: &StudyFolder,
    stop: &Stop,
    tell: &mut dyn FnMut(StudyEvent),
) -> Result<SummaryFile, StudyError> {
    let _held = hold(&spec.sites)?;
    let mut study = Study::of(spec, folder, stop, tell)?;
    let outcome = study.prepare().and_then(|()| go_through(&mut study, stop));
    let down = study.all_down();
    match outcome {
        Ok(_) => down?,
        Err(error) if error.is_stop() => down?,
        Err(error) => return Err(error),
    }
    let summary = study.summary()?;
    (study.tell)(StudyEvent::Ends(Box::new(summary.clone())));
    Ok(summary)
}

/// What follows from all runs of a study that has nothing left to measure, for which no server need be started; `None` of any other.
pub fn finished(spec: &StudySpec, folder: &StudyFolder) -> Result<Option<SummaryFile>, StudyError> {
    let (stop, mut tell) = (Stop::default(), |_| {});
    let mut study = Study::of(spec, folder, &stop, &mut tell)?;
    if !study.is_finished()? {
        return Ok(None);
    }
    study.summary().map(Some)
}

pub(super) struct Study<'a> {
    pub spec: &'a StudySpec,
    pub folder: &'a StudyFolder,
    pub stop: &'a Stop,
    pub tell: Notify<'a>,
    pub sites: Vec<Site>,
    pub plan: PlanFile,
    /// Since the start, or the resume.
    pub clock: Clock,
    /// Those that stand, with the attempts that were set aside for them.
    pub runs: Vec<RunFile>,
    /// Doubts that hold for every run.
    pub caveats: Vec<Caveat>,
    cells_told: usize,
    /// Blocks that were begun.
    blocks: u32,
    /// Where rates are being found, how far that is.
    pub climbs: Option<Climbs>,
    /// Where runs are chosen one by one, whose turn it is.
    pub turns: Option<Turns>,
}

impl<'a> Study<'a> {
    fn of(
        spec: &'a StudySpec,
        folder: &'a StudyFolder,
        stop: &'a Stop,
        tell: Notify<'a>,
    ) -> Result<Self, StudyError> {
        Ok(Self {
            clock: Clock::start(),
            sites: spec.sites.iter().map(Site::new).collect(),
            plan: folder.plan()?,
            runs: folder.runs()?,
            cells_told: 0,
            blocks: 0,
            climbs: None,
            turns: None,
            caveats: Vec::new(),
            spec,
            folder,
            stop,
            tell,
        })
    }

    /// What follows from all that was measured; kept in the folder.
    pub(super) fn summary(&self) -> Result<SummaryFile, StudyError> {
        let written = written(self.folder)?;
        let summary = SummaryFile { written, ..summary::summarise(&self.plan, &self.runs) };
        self.folder.write("summary.json", &summary)?;
        Ok(summary)
    }

    /// Whether nothing is left to measure. A sequence that ended because its time was up goes on for as long again.
    fn is_finished(&mut self) -> Result<bool, StudyError> {
        if !self.plan.rates_known || self.plan.cells.is_empty() {
            return Ok(false);
        }
        match self.spec.budget {
            Some(budget) => Ok(self.plan.ended.is_some() && self.sequence_has_ended(budget)),
            None => is_course_complete(self),
        }
    }

    /// The next block of all cells; `None` after the last.
    fn next_block(&mut self) -> Option<Block<(CellRecord, u32)>> {
        self.tell_plan();
        if self.blocks >= self.spec.repeats {
            return None;
        }
        self.blocks += 1;
        let cells = order::block(&self.plan.cells, self.spec.seed, self.blocks);
        let allowed = repeats_allowed(self.runs_planned(), self.blocks, self.spec.repeats);
        Some(Block {
            keys: cells.into_iter().map(|cell| (cell, self.blocks)).collect(),
            retries: self.spec.retries,
            retries_in_all: allowed.saturating_sub(self.attempts_set_aside()),
        })
    }

    /// Whether a disturbed run of a sequence may be made again: half as often as in other studies, so that steady neighbours cost little
    /// time, and where the time is not up.
    fn retries_left(&self, budget: Budget, cell: &CellRecord) -> u32 {
        let made = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        let after = self.clock.now() + self.cell_cost(cell) + self.cell_cost(cell);
        let fits = budget.within.is_none_or(|within| after <= within);
        u32::from(fits && self.attempts_set_aside() < repeats_allowed(made, 1, 2))
    }

    fn all_down(&mut self) -> Result<(), StudyError> {
        let study = self.plan.identity();
        self.sites.iter_mut().map(|site| site.leave(&study, self.tell)).fold(Ok(()), Result::and)
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
        let runs = |cell: &CellRecord| {
            let cell = cell.clone();
            (1..=self.spec.repeats).map(move |repeat| (cell.clone(), repeat))
        };
        self.left(self.plan.cells.iter().flat_map(runs))
    }

    /// How long a run of a cell takes, roughly.
    pub(super) fn cell_cost(&self, cell: &CellRecord) -> Nanos {
        let phases = phases(self.spec, cell, &self.plan.probes);
        phases.warm_up + phases.measure + OVERHEAD
    }

    /// How long a run takes with all around it: the median of those that are made, and before as long as was asked.
    pub(super) fn run_cost(&self) -> Nanos {
        let starts: BTreeSet<u64> = self.runs.iter().map(|run| run.started_unix_s).collect();
        let mut apart: Vec<u64> =
            starts.iter().zip(starts.iter().skip(1)).map(|(one, next)| next - one).collect();
        apart.sort_unstable();
        let asked = self.spec.warm_up + self.spec.duration;
        let made = |seconds: &u64| Nanos::from_secs(*seconds).max(asked);
        apart.get(apart.len() / 2).map_or(asked + OVERHEAD, made)
    }

    /// Tells the plan where it has changed since it was told last.
    pub(super) fn tell_plan(&mut self) {
        if self.cells_told == self.plan.cells.len() {
            return;
        }
        self.cells_told = self.plan.cells.len();
        let (runs, time_left) = (self.runs_planned(), self.time_left());
        (self.tell)(StudyEvent::Planned {
            folder: self.folder.path().to_owned(),
            cells: self.plan.cells.len(),
            runs,
            done: u32::try_from(self.runs.len()).unwrap_or(u32::MAX),
            time_left,
        });
    }
}

impl Course for Study<'_> {
    type Error = StudyError;
    type Key = (CellRecord, u32);
    type Run = RunFile;

    fn runs(&self) -> &[RunFile] {
        &self.runs
    }

    fn is(&self, run: &RunFile, (cell, repeat): &Self::Key) -> bool {
        (run.cell, run.repeat) == (cell.id, *repeat)
    }

    fn takes(&self, (cell, _): &Self::Key) -> Nanos {
        self.cell_cost(cell)
    }

    fn next(&mut self) -> Result<Option<Block<Self::Key>>, StudyError> {
        if let Some(budget) = self.spec.budget {
            let next = self.next_of_sequence(budget)?;
            return Ok(next.map(|key| Block {
                retries: self.spec.retries,
                retries_in_all: self.retries_left(budget, &key.0),
                ..Block::one(key)
            }));
        }
        let climbing = self.next_of_climb()?.map(Block::one);
        Ok(climbing.or_else(|| self.next_block()))
    }

    fn make(&mut self, (cell, repeat): &Self::Key, attempt: u32) -> Result<bool, StudyError> {
        self.attempt(cell, *repeat, attempt).map(|()| true)
    }

    fn again(&mut self, (cell, repeat): &Self::Key, attempt: u32, because: Disturbance) {
        let run = self.place(cell, *repeat, attempt);
        (self.tell)(StudyEvent::MeasuredAgain { run, because });
    }
}

const FILE: &str = "written.json";

/// Counts the loads of a study: probes, runs, and attempts that were set aside or stopped.
pub(super) struct Ledger<'a>(pub &'a StudyFolder);

impl Ledger<'_> {
    /// A load begins. Until its end is noted nobody knows what it writes.
    pub fn begins(&self) -> Result<(), StoreError> {
        self.change(|file| file.unknown_loads += 1)
    }

    pub fn ends(&self, written: &Written) -> Result<(), StoreError> {
        self.change(|file| {
            file.unknown_loads = file.unknown_loads.saturating_sub(1);
            file.rows.add(written);
        })
    }

    fn change(&self, change: impl FnOnce(&mut WrittenFile)) -> Result<(), StoreError> {
        let mut file = written(self.0)?.unwrap_or_default();
        file.format = FORMAT;
        change(&mut file);
        self.0.write(FILE, &file)
    }
}

/// What was written so far; `None` where nothing was to be counted.
pub fn written(folder: &StudyFolder) -> Result<Option<WrittenFile>, StoreError> {
    folder.path().join(FILE).exists().then(|| folder.read(FILE)).transpose()
}

/// Why a sequence ended; of several series, the one that weighs most, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Enough,
    Exhausted,
    TooFewArrivals,
    RequestsFail,
    GeneratorFails,
    TooMany,
    TimeIsUp,
}

/// Groups of series, each in its turn, so that what drifts with time meets them alike.
pub(super) struct Turns {
    /// Those that go on, the next one first.
    pub groups: VecDeque<Vec<usize>>,
    /// Runs that are left of the group whose turn it is: series and rate.
    pub runs: VecDeque<(usize, f64)>,
    pub end: End,
}

impl End {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Enough => "the bounds are as tight as requested",
            Self::TimeIsUp => "the time is up",
            Self::Exhausted => "no further run of this length tightens the bounds",
            Self::TooFewArrivals => {
                "the server carries so little that a run has too few arrivals: give runs more time by \
                 --duration, and all of them by --within"
            }
            Self::RequestsFail => {
                "too many requests fail at the rate to measure next: see the errors by `evenkeel load`, and \
                 fix what the server names"
            }
            Self::GeneratorFails => "the generator fails at the rate to measure next",
            Self::TooMany => "2,000 runs are made",
        }
    }
}
