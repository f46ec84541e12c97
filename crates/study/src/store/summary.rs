//! What stands in `summary.json`.

use super::bounds::BoundsRecord;
use super::estimates::EstimateRecord;
use super::words::Verdict;
use super::written::WrittenFile;
use evenkeel_core::caveat::Caveat;
use evenkeel_lab::load::Counts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `summary.json`: what follows from the finished runs. Derived, and written anew after each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryFile {
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    /// The one sentence, one for each series group (series that differ only in the target).
    pub headlines: Vec<HeadlineRecord>,
    /// Cells in the order of series and rate.
    pub cells: Vec<CellSummary>,
    /// Doubts about the whole.
    #[serde(with = "super::caveats")]
    pub caveats: Vec<Caveat>,
    pub runs_done: u32,
    pub runs_planned: u32,
    pub complete: bool,
    /// Why a study whose runs are chosen one by one has ended; absent where it goes on, or has a fixed number of runs.
    pub ended: Option<String>,
    /// Whether every stable cell's measurement is valid.
    pub valid: bool,
    /// What all loads wrote to servers that others use; absent where nothing was written there.
    pub written: Option<WrittenFile>,
}

/// What a group of series carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadlineRecord {
    pub series: Vec<usize>,
    /// Label of the group; empty where there is one only.
    pub label: String,
    pub text: String,
    /// Up to which rate p95 stays below a time.
    pub p95_text: String,
    pub cpu_text: String,
    /// What of it can be relied on, and what not. Empty before anything is measured.
    pub trust_text: String,
    /// What is carried, as bounds from all valid runs.
    pub bounds: BoundsRecord,
    /// Highest trusted utilisation, percent.
    pub trust_theta_percent: Option<f64>,
    /// Whether trust ended inside the measured range (otherwise it reaches at least so far).
    pub trust_ended: bool,
    pub trust_reason: String,
}

/// What the runs of a cell brought in the stretches that nobody disturbed, guard bands left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UndisturbedRecord {
    /// Mean response time of the requests that arrived in them, ms, over the runs that have such requests.
    pub tau_ms: EstimateRecord,
    /// Share of the measured time that they cover, percent, over all runs.
    pub coverage_percent: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    pub cell: u32,
    /// Index into the plan's series.
    pub series: usize,
    /// Arrivals per second that were asked for.
    pub rate_per_s: f64,
    pub runs: u32,
    /// Attempts at them that were set aside, because something from outside disturbed them more.
    pub attempts_set_aside: u32,
    /// Whether the response came to rest in all runs.
    pub stability: Verdict,
    /// Whether tau is a lower bound in some run.
    pub lower_bound: bool,
    /// Mean response time over runs, ms.
    pub tau_ms: EstimateRecord,
    /// Percentiles over runs, ms.
    pub p50_ms: EstimateRecord,
    /// 90th percentile over runs, ms.
    pub p90_ms: EstimateRecord,
    /// 95th percentile over runs, ms.
    pub p95_ms: EstimateRecord,
    /// 99th percentile over runs, ms.
    pub p99_ms: EstimateRecord,
    /// 99.9th percentile over runs, ms.
    pub p999_ms: EstimateRecord,
    /// Completions per second.
    pub throughput_per_s: EstimateRecord,
    /// CPU utilisation of the server, percent.
    pub theta_percent: EstimateRecord,
    /// 99th percentile of the dispatch lag, ms.
    pub lag_p99_ms: EstimateRecord,
    /// Wait for a session, the mean over all requests of a run, ms; part of tau.
    pub session_wait_ms: EstimateRecord,
    /// Buffer pool reads from disk per request.
    pub pool_reads_per_request: Option<EstimateRecord>,
    /// Probe delay mu, ms: response time of a small probe less its execution time at the server.
    pub mu_ms: EstimateRecord,
    /// What the server did, by name with its unit ([`crate::profile::server_measures`]).
    pub server: BTreeMap<String, EstimateRecord>,
    /// Difference between the largest and the smallest tau of targets at this rate, ms.
    pub target_spread_ms: Option<f64>,
    /// All runs' ends added up.
    pub counts: Counts,
    /// Whether it is valid (no caveat says otherwise).
    pub valid: bool,
    /// Doubts about the cell and, without repetition, its runs.
    #[serde(with = "super::caveats")]
    pub caveats: Vec<Caveat>,
    /// The part of `mu_ms` in which the threads of the probe waited for a CPU, ms.
    pub probe_wait_ms: EstimateRecord,
    /// Tau of the requests that arrived outside of the bursts in which neighbours took of the server's CPUs; absent where neighbours cannot be seen, or where no request arrived in such
    /// a time.
    pub undisturbed: Option<UndisturbedRecord>,
}
