//! What stands in the files of a study folder. The only types of this crate that derive serde; a change
//! that older readers cannot take raises [`FORMAT`].

pub use super::batches::BatchRecord;
pub use super::bounds::{BoundsRecord, NeighboursRecord, RangeRecord, WorkRecord};
pub use super::counts::CountsRecord;
pub use super::estimates::EstimateRecord;
pub use super::orders::PerMinuteRecord;
pub use super::readings::{CpuRecord, GaugeRecord};
pub use super::stretch::StretchRecord;
pub use super::summary::{CellSummary, HeadlineRecord, SummaryFile, UndisturbedRecord};
pub use super::times::TimesRecord;
pub use super::words::{ClassRecord, DomainRecord, LayoutRecord, Process, ResetRecord, Verdict};
pub use evenkeel_core::caveat::{Caveat, Severity};
pub use evenkeel_lab::load::Protocol;
pub use evenkeel_site::elsewhere::{SensedBy, SensedRecord};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of all files of a folder.
pub const FORMAT: u32 = 1;

/// What every `plan.json` has, and every other file of a folder as far as its format goes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Head {
    /// Version of the file.
    pub format: u32,
    /// `profile`, the name of a study file, or that of a published study.
    #[serde(default)]
    pub kind: String,
    /// Only the plan of a published study has parts.
    #[serde(default)]
    parts: Option<serde::de::IgnoredAny>,
}

impl Head {
    /// Whether it is a published study, whose plan is a [`crate::harness::Plan`].
    pub fn is_published(&self) -> bool {
        self.parts.is_some()
    }
}

/// `plan.json`: what is to be measured, written before the first run and, where rates are found on the
/// way, again when they are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// [`FORMAT`].
    pub format: u32,
    /// Folder name.
    pub id: String,
    /// `profile`, or the name of a study file.
    pub kind: String,
    /// Seconds since 1970.
    pub created_unix_s: u64,
    /// Version of Evenkeel.
    pub tool: String,
    /// Command line, without secrets.
    pub command: Vec<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// What stays the same in all cells.
    pub settings: SettingsRecord,
    /// Targets, by label.
    pub targets: Vec<TargetRecord>,
    /// What changes besides the rate; a cell names its series by index.
    pub series: Vec<SeriesRecord>,
    /// How rates are chosen: `auto:8`, `10..:10`, `10,20,30`.
    pub rate: String,
    /// Cells; grows while rates are being found.
    pub cells: Vec<CellRecord>,
    /// Whether all cells are known.
    pub rates_known: bool,
    /// What the search for the saturation saw, for each series.
    pub probes: Vec<ProbeRecord>,
    /// Sweeps that have ended.
    #[serde(default)]
    pub sweeps: Vec<SweepRecord>,
    /// Why a study whose runs are chosen one by one has ended; absent where it goes on, or has a fixed number of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// CRC-32 of the user's file beside the plan, a workload or a study; absent where there is none, and in older plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_crc32: Option<u32>,
}

/// How a sweep through rates ended, for series that differ in the target alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Indices of the series.
    pub series: Vec<usize>,
    /// Why.
    pub reason: String,
    /// Rates above the end, which are not measured.
    pub not_measured_per_s: Vec<f64>,
}

/// What stays the same in all cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingsRecord {
    /// Process of the arrivals.
    pub arrivals: Process,
    /// Repeats of each cell.
    pub repeats: u32,
    /// Measured phase, seconds.
    pub duration_s: f64,
    /// Warm-up, seconds.
    pub warm_up_s: f64,
    /// Age at which a request is given up, seconds.
    pub timeout_s: f64,
    /// `pooled:N` or `per-request:N`.
    pub sessions: String,
    /// How statements travel.
    pub protocol: Protocol,
    /// What happens before each run.
    pub reset: ResetRecord,
    /// Utilisation at which a sweep ends, percent.
    pub theta_ceiling_percent: f64,
    /// Objective for the 95th percentile, if one was given.
    pub objective_p95_ms: Option<f64>,
    /// Tolerance of the trust limit for the standard error over runs, percent of tau.
    pub tolerance_se_percent: f64,
    /// Tolerance of the trust limit for the spread between targets, percent of tau.
    pub tolerance_spread_percent: f64,
    /// CPUs of the load threads; empty where they were not pinned.
    pub generator_cpus: Vec<usize>,
    /// Whether each request is logged.
    pub request_log: bool,
    /// How often a disturbed run is measured again at most.
    #[serde(default = "retries_default")]
    pub retries: u32,
    /// Whether every rate is measured, also those above the end of the sweep.
    #[serde(default)]
    pub whole_sweep: bool,
    /// Measured phase of a run near saturation at most, seconds; absent where none grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_s: Option<f64>,
    /// Where runs are chosen one by one, the width of the bounds at which they are tight enough, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_percent: Option<f64>,
    /// The same, time at most, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_s: Option<f64>,
}

impl SettingsRecord {
    /// Whether runs are chosen one by one, so that their number is not known before the end.
    pub fn is_sequence(&self) -> bool {
        self.until_percent.is_some() || self.within_s.is_some()
    }
}

/// What a plan of before this was a setting goes on with.
fn retries_default() -> u32 {
    1
}

/// A server under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Label in tables: `a`, `b`, or the host.
    pub label: String,
    /// URL without password, or `sandbox:NAME`.
    pub url: String,
    /// CPUs of its domain; empty where all.
    pub cpus: Vec<usize>,
    /// Memory limit of its domain.
    pub memory_bytes: Option<u64>,
}

/// One combination of factors other than the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Label in tables and plots, for example `pool 20 %, insert layout, a`.
    pub label: String,
    /// Index into `targets`.
    pub target: usize,
    /// Workload name.
    pub workload: String,
    /// Buffer pool, bytes, where it is a factor or set.
    pub pool_bytes: Option<u64>,
    /// The same in percent of the tables and indexes of the statement.
    pub pool_percent: Option<f64>,
    /// How the data came in.
    pub layout: LayoutRecord,
    /// Level of each factor of a study file; empty without one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
}

impl SeriesRecord {
    /// Whether two series differ in nothing but the target, so that their spread tells of machines.
    pub fn same_but_target(&self, other: &Self) -> bool {
        // Percent of two copies of the same tables may differ by a page, and so by a mebibyte when rounded.
        let same_pool = match (self.pool_percent, other.pool_percent) {
            (Some(one), Some(another)) => one == another,
            _ => self.pool_bytes == other.pool_bytes,
        };
        same_pool
            && (&self.workload, &self.layout, &self.levels) == (&other.workload, &other.layout, &other.levels)
    }
}

/// One combination of all factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Number, unique in the study.
    pub id: u32,
    /// Index into `series`.
    pub series: usize,
    /// Arrival rate asked for.
    pub rate_per_s: f64,
}

/// One short run of the search for the saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// Index into `series`.
    pub series: usize,
    /// Arrival rate; absent for a closed probe.
    pub rate_per_s: Option<f64>,
    /// Completions per second.
    pub throughput_per_s: f64,
    /// CPU utilisation of the domain.
    pub theta_percent: Option<f64>,
    /// Whether the server kept up as far as so short a run can tell.
    pub settled: bool,
}

/// `manifest.json`: where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// [`FORMAT`].
    pub format: u32,
    /// What the machine of the generator says of itself: `cpu`, `kernel`, `memory` and the like.
    pub machine: BTreeMap<String, String>,
    /// Servers, in the order of the plan's targets.
    pub servers: Vec<ServerRecord>,
    /// Plans of the workload's statements.
    pub plans: Vec<StatementPlanRecord>,
    /// What whoever sees a server from elsewhere says of its machine, in words, by label of the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sensed: BTreeMap<String, BTreeMap<String, String>>,
}

/// A server, as it was when the study began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Version text.
    pub version: String,
    /// All global variables.
    pub variables: BTreeMap<String, String>,
    /// The data set's stamp, in words, by key.
    pub data: BTreeMap<String, String>,
    /// Bytes of the workload's tables and indexes.
    pub tables_bytes: Option<u64>,
}

/// The plan of one statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementPlanRecord {
    /// Statement name.
    pub statement: String,
    /// Its class.
    pub class: ClassRecord,
    /// Why.
    pub reason: String,
    /// SQL text.
    pub sql: String,
    /// The server's EXPLAIN, as text.
    pub plan: String,
    /// Share of the total work, percent, where it was measured.
    pub work_share_percent: Option<f64>,
    /// Why a read was not made and measured; absent where it was, of writes, and in folders from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_made: Option<String>,
}

/// `run.json`: one attempt at one repeat of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// [`FORMAT`].
    pub format: u32,
    /// Cell number.
    pub cell: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Attempt at this repeat, from 1; above 1 where an earlier one was disturbed from outside.
    #[serde(default = "first_attempt")]
    pub attempt: u32,
    /// Other attempts at this repeat, which were disturbed more. Not in the file: each stands in a folder of its
    /// own, and which of them stands for the repeat is found anew whenever they are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<AttemptRecord>,
    /// Place in the order of all attempts at all runs, from 1.
    pub order: u32,
    /// Seconds since 1970 at the start.
    pub started_unix_s: u64,
    /// Seed of this run.
    pub seed: u64,
    /// Length of the measured phase.
    pub measured_s: f64,
    /// What became of the arrivals.
    pub counts: CountsRecord,
    /// Completions of the measured phase's arrivals per second.
    pub throughput_per_s: f64,
    /// Completion - arrival; the mean is tau.
    pub response: TimesRecord,
    /// Whether tau and the percentiles are lower bounds, because requests timed out or were never sent.
    pub lower_bound: bool,
    /// Done - send.
    pub service: TimesRecord,
    /// First byte - send.
    pub first_byte: TimesRecord,
    /// Send - arrival less what the request had to wait for a session: the generator's own error.
    pub lag: TimesRecord,
    /// Wait for a session, of the requests that had to wait; of those never sent the age that they reached.
    pub session_wait: TimesRecord,
    /// Standard error of tau from batch means inside the run; absent in too short a run.
    pub tau_batch_se_ms: Option<f64>,
    /// Lag-1 autocorrelation of the batches.
    pub batch_autocorrelation: Option<f64>,
    /// Whether the response came to rest.
    pub stability: Verdict,
    /// Requests that had arrived and not ended at the end of the measured phase.
    pub backlog_at_end: u64,
    /// Most sessions open at once.
    pub sessions_max: u32,
    /// Connections opened again after a loss.
    pub reconnects: u64,
    /// CPU of the server's domain; absent where it cannot be seen.
    pub theta: Option<CpuRecord>,
    /// CPU of the generator: percent of one CPU.
    pub generator_cpu_percent: Option<f64>,
    /// CPU of others on the machine, percent of the whole machine.
    pub other_load_percent: Option<f64>,
    /// Context switches of the generator per completed request.
    pub generator_switches_per_request: Option<f64>,
    /// Further measures by name with unit suffix: `psi_cpu_some_percent`, `disk_read_bytes_per_s`,
    /// `cycles_per_request` ...; absent where not available.
    pub sense: BTreeMap<String, f64>,
    /// Deltas of server status counters over `status_stretch`, about the measured phase, without those of the session that
    /// asks; gauges at its end.
    pub status: BTreeMap<String, f64>,
    /// Probe delay mu over the run's probes, ms: response time less execution time at the server. Absent where the server
    /// does not tell.
    #[serde(default)]
    pub mu_ms: Option<EstimateRecord>,
    /// Gauges of the server over the measured phase, by name.
    #[serde(default)]
    pub gauges: BTreeMap<String, GaugeRecord>,
    /// By kind of request.
    pub kinds: Vec<KindRecord>,
    /// By statement.
    pub statements: Vec<KindRecord>,
    /// By step of a request; empty where requests have no steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<KindRecord>,
    /// Orders per minute; absent where requests are no orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders_per_minute: Option<PerMinuteRecord>,
    /// Requests that the workload itself rolled back; they are completed all the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rolled_back: u64,
    /// Errors after which a client went on with its request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tried_again: u64,
    /// The measured phase in twenty stretches; empty in folders from before they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<BatchRecord>,
    /// Relaxation times of the queue that the measured phase lasted, by its own mean backlog; absent where nothing was
    /// under way, and in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relaxations: Option<f64>,
    /// What neighbours took of the server's CPUs; absent where that cannot be seen, and in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighboursRecord>,
    /// Errors by code with one text each.
    pub error_texts: BTreeMap<u16, String>,
    /// Doubts about this run.
    #[serde(with = "super::caveats")]
    pub caveats: Vec<Caveat>,
    /// Where the CPU figures come from; absent in folders from before others than this machine could bring them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensed: Option<SensedRecord>,
    /// What the deltas in `status` are of; absent where the server did not tell them, and in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_stretch: Option<StretchRecord>,
    /// The part of `mu_ms` in which the probe's own thread, and that of the server as far as it is known, could have run and
    /// waited for a CPU, ms; absent where the kernel does not tell, and in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_wait_ms: Option<EstimateRecord>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn first_attempt() -> u32 {
    1
}

/// An attempt at a run that was set aside for one that was disturbed less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Attempt, from 1.
    pub attempt: u32,
    /// CPU time of the server's domain that the hypervisor took, percent.
    pub steal_percent: Option<f64>,
    /// CPU of others on the machine, percent of the whole machine.
    pub other_load_percent: Option<f64>,
    /// Mean response time, where anything was answered; it has no part in which attempt stands.
    pub tau_ms: Option<f64>,
}

/// One kind of request or statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindRecord {
    /// Name.
    pub name: String,
    /// Completed.
    pub completed: u64,
    /// Failed, timed out or unsent.
    pub lost: u64,
    /// Times.
    pub times: TimesRecord,
}
