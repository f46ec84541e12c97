//! A study: series of cells over arrival rates, each repeated, in blocks.
//!
//! `spec` says what is wanted; `run` walks through the whole: `prepare`, then `rates`, where `search` finds the
//! saturation, then blocks of `attempt`s at runs; `site` brings a server up cold; `measure` makes one run with its
//! observers (`observe`, `watch`); `apart` lends server and run to a study with an order of its own; `judge` raises doubts; `cells` and `summary` say
//! what follows. All of it is resumable: what stands in the folder is not measured again.

mod answer;
mod apart;
mod around;
mod attempt;
mod cells;
mod climb;
mod disk;
mod error;
mod figures;
mod judge;
mod length;
mod manifest;
mod measure;
mod order;
mod parts;
mod plans;
mod pooled;
mod preflight;
mod prepare;
mod rates;
mod run;
mod search;
mod sentence;
mod sequence;
mod server;
mod site;
mod spec;
mod stretch;
mod summary;
mod telling;
mod unanswered;
mod watch;

use crate::store::format::{
    FORMAT, PlanFile, ProbeRecord, ResetRecord, RunFile, SeriesRecord, SettingsRecord, SummaryFile,
    TargetRecord,
};
pub(crate) use answer::cpu_ms_per_request;
pub use answer::overload_throughputs;
pub(crate) use apart::{Asked, CPU_WAIT_MS, Server, tables};
pub use cells::{standing, stands};
pub use disk::READ_MS;
pub use error::StudyError;
use evenkeel_core::Nanos;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_lab::data::DataProgress;
use evenkeel_lab::load::{LoadProgress, SessionPolicy};
use evenkeel_site::sandbox::SandboxEvent;
pub use figures::{kinds, orders_per_minute, times};
pub(crate) use judge::REFUSALS;
pub use judge::load_caveats;
pub use measure::outlived;
pub(crate) use order::cell_of;
pub use order::is_same_rate;
pub use parts::price_over;
pub use plans::{plan_record, shapes};
pub use preflight::{announcement, prepared_statements};
pub use prepare::POOL_BYTES_MIN;
pub use run::{finished, run, written};
pub use sequence::RUNS_FIRST;
pub use server::{COUNTERS_PER_REQUEST, server_measures};
pub use site::recover;
pub use spec::{Budget, PoolSize, Reset, SeriesSpec, ServerSpec, SiteSpec, StudySpec, writes};
use std::path::PathBuf;
pub use summary::{summarise, trust_limits};
pub use unanswered::Unanswered;

/// The study's name in plans and on the command line.
pub const NAME: &str = "profile";

// The plan of a study as it stands in its folder.

/// The plan of a new study, before any rate is known.
pub fn new_plan(spec: &StudySpec, id: String, created_unix_s: u64, targets: Vec<TargetRecord>) -> PlanFile {
    PlanFile {
        format: FORMAT,
        id,
        kind: spec.kind.clone(),
        created_unix_s,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        command: spec.command.clone(),
        seed: spec.seed.0,
        settings: settings(spec),
        targets,
        series: spec.series.iter().map(series_record).collect(),
        rate: spec.rate_text.clone(),
        cells: Vec::new(),
        rates_known: false,
        probes: Vec::new(),
        sweeps: Vec::new(),
        ended: None,
        file_crc32: None,
        workload_files: Vec::new(),
    }
}

/// What stays the same in all cells.
pub fn settings(spec: &StudySpec) -> SettingsRecord {
    let (name, max) = match spec.sessions {
        SessionPolicy::Pooled { max } => ("pooled", max),
        SessionPolicy::PerRequest { max } => ("per-request", max),
    };
    SettingsRecord {
        repeats: spec.repeats,
        duration_s: spec.duration.as_secs_f64(),
        warm_up_s: spec.warm_up.as_secs_f64(),
        timeout_s: spec.timeout.as_secs_f64(),
        sessions: format!("{name}:{max}"),
        reset: match &spec.reset {
            Reset::Full if spec.restores() => ResetRecord::Restore,
            Reset::Full => ResetRecord::Restart,
            Reset::Command(_) => ResetRecord::Command,
            Reset::Nothing => ResetRecord::Nothing,
        },
        objective_p95_ms: spec.objective_p95.map(Nanos::as_millis_f64),
        generator_cpus: spec.generator_cpus.clone(),
        retries: spec.retries,
        whole_sweep: spec.whole_sweep,
        longest_s: (spec.longest > spec.duration).then(|| spec.longest.as_secs_f64()),
        until_percent: spec.budget.and_then(|budget| budget.until).map(|until| 100.0 * until),
        within_s: spec.budget.and_then(|budget| budget.within).map(Nanos::as_secs_f64),
    }
}

fn series_record(series: &SeriesSpec) -> SeriesRecord {
    SeriesRecord {
        label: series.label.clone(),
        target: series.target,
        workload: series.workload.name().to_owned(),
        writes: series.writes(),
        pool_bytes: match series.pool {
            Some(PoolSize::Bytes(bytes)) => Some(bytes),
            _ => None,
        },
        pool_percent: match series.pool {
            Some(PoolSize::Percent(percent)) => Some(percent),
            _ => None,
        },
        layout: series.layout,
        levels: series.levels.clone(),
    }
}

// What a study tells while it goes on. Closed: views listen, nobody else.

type Notify<'a> = &'a mut dyn FnMut(StudyEvent);

#[derive(Clone, Debug)]
pub enum StudyEvent {
    /// A server is being started, stopped or asked.
    Preparing(String),
    /// What is about to happen to a server that others use.
    Announced(String),
    /// Something that disturbs and does not stop.
    Warning(String),
    Data(DataProgress),
    Probed(ProbeRecord),
    /// The folder is there and the plan stands in it.
    Planned {
        folder: PathBuf,
        cells: usize,
        runs: u32,
        /// Runs that are finished already.
        done: u32,
        /// How long the rest takes, roughly.
        time_left: Nanos,
    },
    RunBegins {
        run: RunPlace,
        /// How long the rest takes, roughly.
        time_left: Nanos,
    },
    Load {
        load: LoadProgress,
        /// CPU utilisation of the domain in the last seconds, percent.
        theta_percent: Option<f64>,
    },
    /// A run was disturbed from outside and is measured once more.
    MeasuredAgain {
        /// With the attempt that begins.
        run: RunPlace,
        because: Disturbance,
    },
    RunEnds(Box<RunFile>),
    /// A sweep ends where the server carries no more.
    SweepEnds {
        series: String,
        /// Why the sweep ends, in words.
        reason: String,
        /// Rates above, which are not measured.
        not_measured: Vec<f64>,
    },
    /// All is done, or as far as it got.
    Ends(Box<SummaryFile>),
}

/// Which run of a study.
#[derive(Clone, Debug)]
pub struct RunPlace {
    /// Label of the series.
    pub series: String,
    pub rate_per_s: f64,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Attempt at it, from 1.
    pub attempt: u32,
    /// Place in the order of all runs, from 1.
    pub order: u32,
    /// Runs in all, with those that were made again, as far as known.
    pub runs: u32,
}

/// Tells what becomes of a private server.
fn tell_sandbox(event: SandboxEvent, tell: Notify<'_>) {
    let text = match event {
        SandboxEvent::Bootstrapping { server } => format!("making a data directory for {server}"),
        SandboxEvent::Starting { pid } => format!("starting the server (process {pid})"),
        SandboxEvent::Ready { .. } => return,
        SandboxEvent::Stopping { pid } => format!("stopping the server (process {pid})"),
        SandboxEvent::Note(text) => text,
    };
    tell(StudyEvent::Preparing(text));
}
