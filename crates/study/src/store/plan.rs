//! What stands in `plan.json` of a profile, and in `manifest.json`.

use super::summary::ResetRecord;
use evenkeel_lab::workload::Class;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `plan.json`: what is to be measured, written before the first run and, where rates are found on the
/// way, again when they are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    pub id: String,
    /// `profile`, or the name of a study file.
    pub kind: String,
    /// Seconds since 1970.
    pub created_unix_s: u64,
    pub tool: String,
    /// Command line, without secrets.
    pub command: Vec<String>,
    pub seed: u64,
    /// What stays the same in all cells.
    pub settings: SettingsRecord,
    pub targets: Vec<TargetRecord>,
    /// What changes besides the rate; a cell names its series by index.
    pub series: Vec<SeriesRecord>,
    /// How rates are chosen: `auto:8`, `10..:10`, `10,20,30`.
    pub rate: String,
    /// Cells; grows while rates are being found.
    pub cells: Vec<CellRecord>,
    pub rates_known: bool,
    /// What the search for the saturation saw, for each series.
    pub probes: Vec<ProbeRecord>,
    pub sweeps: Vec<SweepRecord>,
    /// Why a study whose runs are chosen one by one has ended; absent where it goes on, or has a fixed number of runs.
    pub ended: Option<String>,
    /// CRC-32 of the user's file beside the plan, a workload or a study; absent where there is none.
    pub file_crc32: Option<u32>,
    /// Workload files that a study of a file names, of which copies stand beside the plan; empty without any.
    pub workload_files: Vec<WorkloadFileRecord>,
}

impl PlanFile {
    /// What tells this study from any other, also from a deleted one of the same name: its name, a space, and when it began.
    pub fn identity(&self) -> String {
        format!("{} {}", self.id, self.created_unix_s)
    }
}

/// A workload file as a study of a file names it. Its copy is `workload.toml`, that of the second `workload-2.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadFileRecord {
    /// Its path, as it stands in the study file.
    pub named: String,
    /// CRC-32 of the copy.
    pub crc32: u32,
}

/// How a sweep through rates ended, for series that differ in the target alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    pub series: Vec<usize>,
    pub reason: String,
    /// Rates above the end, which are not measured.
    pub not_measured_per_s: Vec<f64>,
}

/// What stays the same in all cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingsRecord {
    pub repeats: u32,
    /// Measured phase, seconds.
    pub duration_s: f64,
    /// Load before measuring begins, in seconds.
    pub warm_up_s: f64,
    /// Age at which a request is given up, seconds.
    pub timeout_s: f64,
    /// `pooled:N` or `per-request:N`.
    pub sessions: String,
    /// What happens before each run.
    pub reset: ResetRecord,
    /// Objective for the 95th percentile, if one was given.
    pub objective_p95_ms: Option<f64>,
    /// CPUs of the load threads; empty where they were not pinned.
    pub generator_cpus: Vec<usize>,
    /// How often a disturbed run is measured again at most.
    pub retries: u32,
    /// Whether every rate is measured, also those above the end of the sweep.
    pub whole_sweep: bool,
    /// Measured phase of a run near saturation at most, seconds; absent where none grows.
    pub longest_s: Option<f64>,
    /// Where runs are chosen one by one, the width of the bounds at which they are tight enough, percent.
    pub until_percent: Option<f64>,
    /// The same, time at most, seconds.
    pub within_s: Option<f64>,
}

impl SettingsRecord {
    /// Whether runs are chosen one by one, so that their number is not known before the end.
    pub fn is_sequence(&self) -> bool {
        self.until_percent.is_some() || self.within_s.is_some()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Label in tables: `a`, `b`, or the host.
    pub label: String,
    /// URL without password, or `sandbox:NAME`.
    pub url: String,
    /// CPUs of its domain; empty where all.
    pub cpus: Vec<usize>,
    pub memory_bytes: Option<u64>,
}

/// One combination of factors other than the rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Label in tables and plots, for example `pool 20 %, insert layout, a`.
    pub label: String,
    /// Index into `targets`.
    pub target: usize,
    pub workload: String,
    /// Whether its statements change rows.
    #[serde(default)]
    pub writes: bool,
    /// Buffer pool, bytes, where it is a factor or set.
    pub pool_bytes: Option<u64>,
    /// The same in percent of the tables and indexes of the statement.
    pub pool_percent: Option<f64>,
    /// How the rows came into the files, as in `data fill --via`; `as-is` where others put them there.
    pub layout: String,
    /// Level of each factor of a study file; empty without one.
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Number, unique in the study.
    pub id: u32,
    /// Index into `series`.
    pub series: usize,
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
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    /// What the machine of the generator says of itself: `cpu`, `kernel`, `memory` and the like.
    pub machine: BTreeMap<String, String>,
    /// Servers, in the order of the plan's targets.
    pub servers: Vec<ServerRecord>,
    pub plans: Vec<StatementPlanRecord>,
    /// What whoever sees a server from elsewhere says of its machine, in words, by label of the target.
    pub sensed: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    pub version: String,
    pub variables: BTreeMap<String, String>,
    /// The data set's stamp, in words, by key.
    pub data: BTreeMap<String, String>,
    /// Bytes of the workload's tables and indexes.
    pub tables_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementPlanRecord {
    pub statement: String,
    /// Whether it is simple, complex or a write.
    pub class: Class,
    pub reason: String,
    pub sql: String,
    /// The server's EXPLAIN, as text.
    pub plan: String,
    /// Share of the total work, percent, where it was measured.
    pub work_share_percent: Option<f64>,
    /// Why a read was not made and measured; absent where it was, of writes.
    pub not_made: Option<String>,
    /// A CREATE INDEX statement that would spare it a full scan; nobody has tried it.
    pub proposal: Option<String>,
    /// Share of the rows that all statements read, percent.
    pub rows_share_percent: Option<f64>,
}
