//! One side of a comparison.

use crate::profile::{self, cpu_ms_per_request, overload_throughputs, stands, summarise};
use crate::store::format::{
    BoundsRecord, Caveat, CellSummary, PlanFile, RunFile, SummaryFile, TimesRecord, Verdict,
};
use crate::store::{StoreError, StudyFolder};
use evenkeel_core::caveat::threshold::LAG_SHARE_DECIDES;
use evenkeel_core::experiment::Better;
use evenkeel_site::words;
use std::collections::BTreeSet;

/// Code of the caveat that runs are still to come.
const INCOMPLETE: &str = "incomplete";

/// A study that was read, with what follows from its runs by this version.
#[derive(Clone, Debug)]
pub struct Side {
    plan: PlanFile,
    runs: Vec<RunFile>,
    summary: SummaryFile,
    /// Those of its series that are compared, in the order of the other side's.
    series: Vec<usize>,
    count: Count,
}

impl Side {
    pub fn read(folder: &StudyFolder) -> Result<Self, StoreError> {
        Ok(Self::of(folder.plan()?, folder.runs()?))
    }

    pub fn of(plan: PlanFile, runs: Vec<RunFile>) -> Self {
        let (summary, series) = (summarise(&plan, &runs), (0..plan.series.len()).collect());
        Self { summary, series, plan, runs, count: Count::default() }
    }

    /// The same study, counted in another way.
    pub(super) fn counted(&self, count: Count) -> Self {
        Self { count, ..self.clone() }
    }

    /// Runs whose lag is a notable part of their response times.
    pub(super) fn late(&self) -> usize {
        let late = |cell: &CellSummary| self.standing(cell).filter(|run| is_late(run, cell)).count();
        self.summary.cells.iter().filter(|cell| self.series.contains(&cell.series)).map(late).sum()
    }

    pub(super) fn bounds(&self, series: usize) -> Option<&BoundsRecord> {
        let own = self.summary.headlines.iter().find(|headline| headline.series.contains(&series));
        own.map(|headline| &headline.bounds)
    }

    /// How long a run takes with all around it, in seconds: the median between two starts.
    fn run_s(&self) -> f64 {
        let mut starts: Vec<u64> = self.runs.iter().map(|run| run.started_unix_s).collect();
        starts.sort_unstable();
        let mut gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let settings = &self.plan.settings;
        gaps.get(gaps.len() / 2).map_or(settings.duration_s + settings.warm_up_s, |gap| *gap as f64)
    }

    /// How so many runs more under each condition are made, beside `made` that there are.
    pub fn more(&self, runs_more: u64, made: usize) -> More {
        let settings = &self.plan.settings;
        if let Some(within_s) = settings.within_s {
            let times = runs_more.div_ceil(made.max(1) as u64);
            return More { repeats: None, times, seconds: times as f64 * within_s };
        }
        let repeats = u64::from(settings.repeats).max(made as u64) + runs_more;
        let left = (repeats * self.plan.cells.len() as u64).saturating_sub(self.runs.len() as u64);
        More { repeats: Some(repeats), times: 1, seconds: left as f64 * self.run_s() }
    }

    /// The same study, of which these series alone are compared.
    pub fn of_series(self, series: Vec<usize>) -> Self {
        Self { series, ..self }
    }

    pub fn name(&self) -> &str {
        &self.plan.id
    }

    pub fn plan(&self) -> &PlanFile {
        &self.plan
    }

    /// That runs of it are still to come.
    pub fn unfinished(&self) -> Option<&Caveat> {
        self.summary.caveats.iter().find(|caveat| caveat.code == INCOMPLETE)
    }

    pub(super) fn series(&self) -> &[usize] {
        &self.series
    }

    pub(super) fn label(&self, series: usize) -> &str {
        self.plan.series.get(series).map_or("", |series| &series.label)
    }

    /// What is asked of the series that are compared.
    pub fn workloads(&self) -> BTreeSet<&str> {
        self.series.iter().filter_map(|at| Some(self.plan.series.get(*at)?.workload.as_str())).collect()
    }

    /// Share of the CPUs that neighbours took, percent: of several servers the most.
    pub(super) fn taken_percent(&self) -> Option<f64> {
        let all = self.summary.headlines.iter().filter_map(|own| own.bounds.taken_percent);
        all.reduce(f64::max)
    }

    pub(super) fn cells_of(&self, series: usize) -> impl Iterator<Item = &CellSummary> {
        self.summary.cells.iter().filter(move |cell| cell.series == series)
    }

    /// The runs of a cell in which the generator did not fail.
    pub(super) fn standing(&self, cell: &CellSummary) -> impl Iterator<Item = &RunFile> {
        let id = cell.cell;
        let counts = move |run: &RunFile| self.count != Count::Punctual || !is_late(run, cell);
        self.runs.iter().filter(move |run| run.cell == id && stands(run) && counts(run))
    }

    pub(super) fn figures(&self, cell: &CellSummary, figure: Criterion) -> Vec<f64> {
        self.standing(cell).filter_map(|run| figure.of(run, self.count)).collect()
    }

    /// The same of a statement.
    pub(super) fn of_statement(&self, cell: &CellSummary, name: &str, figure: Criterion) -> Vec<f64> {
        let own = |run: &RunFile| {
            let found = run.statements.iter().find(|statement| statement.name == name)?;
            figure.of_statement(&found.times)
        };
        self.standing(cell).filter_map(own).collect()
    }

    /// Names of the statements that its runs asked.
    pub(super) fn statements(&self) -> Vec<&str> {
        let names = self.runs.first().map(|run| run.statements.iter().map(|own| own.name.as_str()));
        names.into_iter().flatten().collect()
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

/// How further runs are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct More {
    /// As many repeats of each cell; `None` of a study whose runs are chosen one by one.
    pub repeats: Option<u64>,
    /// How often the study has to go on.
    pub times: u64,
    /// How long that takes in all, roughly.
    pub seconds: f64,
}

/// Whether a run's lag is a notable part of the response times of its cell.
fn is_late(run: &RunFile, cell: &CellSummary) -> bool {
    run.lag.measured().is_some_and(|lag| lag.mean_ms > LAG_SHARE_DECIDES * cell.tau_ms.mean)
}

words! {
    /// Each by its name as `--of` takes it.
    Criterion {
        /// Completions per second in overload.
        Throughput = "throughput",
        /// Mean response time.
        Response = "response",
        /// 95th percentile of the response time.
        P95 = "p95",
        /// CPU time of the server for a request.
        Cpu = "cpu",
    }
}

impl Criterion {
    pub fn words(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Response => "response time",
            Self::P95 => "p95",
            Self::Cpu => "CPU per request",
        }
    }

    pub(super) fn better(self) -> Better {
        match self {
            Self::Throughput => Better::Higher,
            Self::Response | Self::P95 | Self::Cpu => Better::Lower,
        }
    }

    /// Whether it is a response time, which a late generator lengthens.
    pub(super) fn is_response(self) -> bool {
        matches!(self, Self::Response | Self::P95)
    }

    /// Of a run; `None` of one without an answer, which has no response time, or whose CPU use nobody saw.
    pub(super) fn of(self, run: &RunFile, count: Count) -> Option<f64> {
        let response = run.response.measured();
        match self {
            Self::Throughput => Some(run.throughput_per_s),
            Self::Cpu => cpu_ms_per_request(run),
            Self::Response => Some(response?.mean_ms - own(run, count, |lag| lag.mean_ms)),
            // Never less than what the server took from the sending on.
            Self::P95 => Some((response?.p95_ms - own(run, count, |lag| lag.p95_ms)).max(run.service.p95_ms)),
        }
    }

    /// Of a statement of a run, from its sending to its last answer.
    pub(super) fn of_statement(self, times: &TimesRecord) -> Option<f64> {
        times.measured().map(|times| if self == Self::P95 { times.p95_ms } else { times.mean_ms })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Count {
    /// From the instant at which a request was due.
    #[default]
    Due,
    Sent,
    /// From when it was due, without the runs whose generator was late.
    Punctual,
}

/// The generator's own part, where responses count from the sending.
fn own(run: &RunFile, count: Count, figure: fn(&TimesRecord) -> f64) -> f64 {
    if count == Count::Sent { run.lag.measured().map_or(0.0, figure) } else { 0.0 }
}
