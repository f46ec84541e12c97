//! A server and runs on it for a study that has an order of its own: the same starts, observers and figures as in a profile.

use super::length::Phases;
use super::measure::{RunOrder, measure};
use super::server::READ_MS;
use super::site::{Ready, Setting, Site};
use super::spec::{Reset, SeriesSpec, ServerSpec, SiteSpec, StudySpec, hold};
use super::states::States;
use super::{Notify, StudyError, manifest, preflight};
use crate::store::format::{CellRecord, RunFile, ServerRecord};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::explain::{Effort, PlanReport};
use evenkeel_lab::load::{ArrivalPlan, PartsPlan, Protocol, SESSIONS_DEFAULT, SessionPolicy, Together};
use evenkeel_lab::workload::Workload;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_sense::waits::ThreadWaits;
use evenkeel_site::server::{Control, Target, capacity};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// What the server's threads that could run waited for a CPU, ms for each request, where the kernel tells.
pub(crate) const CPU_WAIT_MS: &str = "server_cpu_wait_ms_per_request";

/// What a request spends in its commit.
pub(crate) const COMMIT_MS: &str = "commit_ms_per_request";
/// Mean time of one sync of a data file as the server waits for it, ms.
pub(crate) const DATA_SYNC_MS: &str = "data_sync_ms";
/// Syncs of data files that were under way in the mean, percent.
pub(crate) const DATA_SYNC_PERCENT: &str = "data_sync_percent";
/// What a request waits for locks of tables; rows are counted by the server.
pub(crate) const TABLE_LOCK_MS: &str = "table_lock_ms_per_request";

/// More than a private server lets in, which are 2,000 as in the published study.
const SESSIONS_REFUSED: u32 = 2_200;

pub(crate) struct Server {
    site: Site,
    spec: SiteSpec,
    ready: Option<Ready>,
    _held: Vec<File>,
}

pub(crate) struct Asked {
    pub workload: Arc<dyn Workload>,
    pub arrivals: ArrivalPlan,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub timeout: Nanos,
    /// Of arrivals and parameters: loads with the same seed ask the same.
    pub seed: Seed,
    pub generator_cpus: Vec<usize>,
    /// Of which share of the requests the server is asked for the execution time.
    pub parts: Option<PartsPlan>,
    /// Whether each request opens a session of its own, until a private server refuses them.
    pub is_refused: bool,
    pub together: Option<Together>,
}

impl Server {
    /// One that nobody else measures on meanwhile.
    pub fn new(spec: SiteSpec) -> Result<Self, StudyError> {
        let held = hold(std::slice::from_ref(&spec))?;
        Ok(Self { site: Site::new(&spec), spec, ready: None, _held: held })
    }

    /// Whether it can be started anew.
    pub fn restarts(&self, reset: &Reset) -> bool {
        !matches!((&self.spec.place, reset), (ServerSpec::Remote(_), Reset::Full | Reset::Nothing))
    }

    /// Its data, whole; for runs that write with a copy of it.
    pub fn prepare(
        &mut self,
        study: &str,
        writes: bool,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<(), StudyError> {
        self.site.prepare(study, writes, stop, tell)
    }

    /// Ends it and starts it with this buffer pool, with the data that it had at first where runs write.
    pub fn start(
        &mut self,
        reset: &Reset,
        (pool, writes): (Option<u64>, bool),
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<(), StudyError> {
        self.down(tell)?;
        let setting = Setting { pool, ..Setting::default() };
        self.ready = Some(self.site.fresh(reset, setting, writes, stop, tell)?);
        Ok(())
    }

    /// Ends it where it is a private one.
    pub fn down(&mut self, tell: Notify<'_>) -> Result<(), StudyError> {
        self.ready = None;
        self.site.down(tell)
    }

    pub fn leave(&mut self, study: &str, tell: Notify<'_>) -> Result<(), StudyError> {
        self.ready = None;
        self.site.leave(study, tell)
    }

    /// How it is reached; `None` while it is down.
    pub fn target(&self) -> Option<&Target> {
        self.ready.as_ref().map(|ready| &ready.target)
    }

    /// Folder with its data, where it is on this machine and up.
    pub fn data_dir(&self) -> Option<PathBuf> {
        self.ready.as_ref()?.data_dir.clone()
    }

    /// Whether it is ours to stop, so that nobody writes to its files.
    pub fn is_private(&self) -> bool {
        !matches!(self.spec.place, ServerSpec::Remote(_))
    }

    /// What is about to happen to a server that others use, on one line; `None` of a private one.
    pub fn announced(
        &self,
        workload: &dyn Workload,
        rates: &str,
        stop: &Stop,
    ) -> Result<Option<String>, StudyError> {
        let ready = self.up()?;
        if !ready.of_others {
            return Ok(None);
        }
        let mut control = Control::connect_until(&ready.target, stop)?;
        let prepared = preflight::prepared_statements(workload, Protocol::Prepared);
        let borne = capacity(&mut control, prepared)?.of_others();
        let sessions = (borne.pool(SESSIONS_DEFAULT), Some(borne.limit.as_str()));
        Ok(Some(preflight::announcement(&ready.target, workload, sessions, rates)))
    }

    /// What it says of itself, and the size of these tables.
    pub fn record(&self, workload: &dyn Workload, stop: &Stop) -> Result<ServerRecord, StudyError> {
        manifest::server(self.up()?, &tables(workload), stop)
    }

    /// What it means to do with each statement, by its plan alone.
    pub fn plans(&self, workload: &dyn Workload, stop: &Stop) -> Result<Vec<PlanReport>, StudyError> {
        let mut control = Control::connect_until(&self.up()?.target, stop)?;
        manifest::statement_plans(
            &mut control,
            workload,
            &Effort { executions: 0, ..Effort::default() },
            stop,
        )
    }

    /// Makes a run; `None` where somebody asked to stop.
    pub fn run(&self, asked: &Asked, stop: &Stop) -> Result<Option<RunFile>, StudyError> {
        let ready = self.up()?;
        let mut control = Control::connect_until(&ready.target, stop)?;
        let spec = spec(asked, &self.spec);
        let rate_per_s = match asked.arrivals {
            ArrivalPlan::Poisson(rate) => rate,
            _ => 0.0,
        };
        let cell = CellRecord { id: 0, series: 0, rate_per_s };
        let order = RunOrder {
            cell: &cell,
            repeat: 1,
            attempt: 1,
            order: 1,
            workload: Arc::clone(&asked.workload),
            arrivals: asked.arrivals.clone(),
            phases: Phases { warm_up: asked.warm_up, measure: asked.measure },
            is_cold: false,
            together: asked.together.clone(),
            ledger: None,
        };
        let (before, clock, waited) = (data_files(&mut control), Clock::start(), waited(ready));
        let states = States::look(&ready.target, stop);
        let measured = measure(&spec, &order, ready, stop, &mut |_| {});
        let states = states.and_then(States::finish);
        // A server that died explains whatever else went wrong.
        self.site.check()?;
        if stop.is_set() && measured.as_ref().is_err_and(StudyError::is_called_off) {
            return Ok(None);
        }
        let Some(mut measured) = measured? else { return Ok(None) };
        if let Some((before, after)) = before.zip(data_files(&mut control)) {
            measured.run.sense.extend(of_data_files(before, after, clock.now()));
        }
        // Requests of the warm-up made them wait too.
        let requests = measured.run.throughput_per_s * (asked.warm_up + asked.measure).as_secs_f64();
        let waited_s = waited.zip(self::waited(ready)).map(|(before, after)| (after - before).as_secs_f64());
        let seconds = [
            (CPU_WAIT_MS, waited_s),
            (COMMIT_MS, states.map(|states| states.commit_s)),
            (TABLE_LOCK_MS, states.map(|states| states.table_lock_s)),
        ];
        let known = seconds.into_iter().filter_map(|(name, seconds)| Some((name, seconds?)));
        for (name, seconds) in known.filter(|_| requests > 0.0) {
            measured.run.sense.insert(name.to_owned(), 1e3 * seconds / requests);
        }
        Ok(Some(measured.run))
    }

    fn up(&self) -> Result<&Ready, StudyError> {
        self.ready.as_ref().ok_or_else(|| StudyError::ServerDied("it is not up".to_owned()))
    }
}

pub(crate) fn tables(workload: &dyn Workload) -> Vec<String> {
    let all = workload.statements().iter().flat_map(|statement| statement.tables.iter().cloned());
    all.collect::<BTreeSet<String>>().into_iter().collect()
}

/// What a profile says once, for a single run.
fn spec(asked: &Asked, site: &SiteSpec) -> StudySpec {
    StudySpec {
        kind: String::new(),
        command: Vec::new(),
        seed: asked.seed,
        rates: RatePlan::List(Vec::new()),
        rate_text: String::new(),
        repeats: 1,
        duration: asked.measure,
        longest: asked.measure,
        warm_up: asked.warm_up,
        timeout: asked.timeout,
        sessions: match asked.is_refused {
            true => SessionPolicy::PerRequest { max: SESSIONS_REFUSED },
            false => SessionPolicy::Pooled { max: SESSIONS_DEFAULT },
        },
        sessions_fit: !asked.is_refused,
        protocol: Protocol::Prepared,
        reset: Reset::Nothing,
        objective_p95: None,
        generator_cpus: asked.generator_cpus.clone(),
        parts: asked.parts,
        retries: 0,
        budget: None,
        whole_sweep: false,
        sites: vec![site.clone()],
        series: Vec::<SeriesSpec>::new(),
    }
}

/// What the threads of a server on this machine have waited for a CPU until now.
fn waited(ready: &Ready) -> Option<Nanos> {
    ThreadWaits::of_process(ready.server_pid?)
}

/// Operations on data files that the server has counted.
#[derive(Clone, Copy)]
struct Operations {
    count: f64,
    /// What they took, in the unit of performance_schema.
    picoseconds: f64,
}

impl Operations {
    fn since(self, before: Self) -> Self {
        Self { count: self.count - before.count, picoseconds: self.picoseconds - before.picoseconds }
    }

    /// `None` where there were none.
    fn mean_ms(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.picoseconds / self.count / 1e9)
    }
}

#[derive(Clone, Copy)]
struct DataFiles {
    reads: Operations,
    /// All that neither reads nor writes: of files that stay open these are syncs.
    syncs: Operations,
}

/// What the server has counted of them; `None` where it does not count.
fn data_files(control: &mut Control) -> Option<DataFiles> {
    const ASKED: &str = "SELECT COUNT_READ, SUM_TIMER_READ, COUNT_MISC, SUM_TIMER_MISC \
                         FROM performance_schema.file_summary_by_event_name \
                         WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'";
    let rows = control.query(ASKED).ok()?;
    let number = |at: usize| rows.rows.first()?.get(at)?.as_deref()?.parse::<f64>().ok();
    let operations = |at: usize| Some(Operations { count: number(at)?, picoseconds: number(at + 1)? });
    let all = DataFiles { reads: operations(0)?, syncs: operations(2)? };
    // A server has read its files, unless it is told to count or to time none.
    (all.reads.picoseconds + all.syncs.picoseconds > 0.0).then_some(all)
}

/// What they did over a time, by the names of the figures.
fn of_data_files(before: DataFiles, after: DataFiles, time: Nanos) -> impl Iterator<Item = (String, f64)> {
    let (reads, syncs) = (after.reads.since(before.reads), after.syncs.since(before.syncs));
    let figures = [
        (READ_MS, reads.mean_ms()),
        (DATA_SYNC_MS, syncs.mean_ms()),
        (DATA_SYNC_PERCENT, Some(100.0 * syncs.picoseconds / 1e12 / time.as_secs_f64())),
    ];
    figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_takes_what_all_of_them_took_since_then() {
        let of = |count: f64, picoseconds: f64| Operations { count, picoseconds };
        let before = DataFiles { reads: of(100.0, 5e9), syncs: of(10.0, 1e9) };
        let after = DataFiles { reads: of(110.0, 25e9), syncs: of(12.0, 41e9) };
        let figures =
            |before, after| of_data_files(before, after, Nanos::from_millis(200)).collect::<Vec<_>>();
        let named = |name: &str, value: f64| (name.to_owned(), value);
        assert_eq!(
            figures(before, after),
            [named(READ_MS, 2.0), named(DATA_SYNC_MS, 20.0), named(DATA_SYNC_PERCENT, 20.0)]
        );
        assert_eq!(figures(before, before), [named(DATA_SYNC_PERCENT, 0.0)]);
    }
}
