//! What stands in `summary.json` and in `written.json`.

use super::estimates::EstimateRecord;
use evenkeel_core::caveat::Caveat;
use evenkeel_lab::load::{Counts, Written};
use evenkeel_site::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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

words! {
    /// Whether the response of a run, or of the runs of a cell, came to rest.
    #[derive(Default)]
    Verdict {
        /// The response came to rest.
        Settled = "settled",
        /// The queue grew to the end.
        Unstable = "unstable",
        #[default]
        TooShort = "too-short",
        /// The runs of the cell differ; of a single run never.
        Mixed = "mixed",
    }
}

words! {
    /// Whose CPU time theta counts.
    #[derive(Default)]
    DomainRecord {
        /// All processes on the server's CPUs.
        #[default]
        Host = "host",
        /// The server's own process.
        Process = "process",
    }
}

words! {
    /// What happened before each run.
    #[derive(Default)]
    ResetRecord {
        Restart = "restart",
        /// The database was restored, and the server restarted.
        Restore = "restore",
        /// A command of the user's was run.
        Command = "command",
        #[default]
        Nothing = "none",
    }
}

/// What others took of the server's CPUs in a run, and what the run brought while they took nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighboursRecord {
    /// CPUs that the server may use.
    pub cpus: f64,
    /// Share of their time that others and the hypervisor took, percent.
    pub taken_percent: f64,
    /// Length of the stretches that nobody disturbed, guard bands left out, seconds.
    pub clear_s: f64,
    pub clear_completed: u64,
    /// What was taken in them all the same: less than one stretch can tell, percent.
    pub clear_taken_percent: f64,
    /// Mean response time of the requests that arrived in them, ms; absent where none did.
    pub clear_tau_ms: Option<f64>,
    /// Share of the CPUs' time for which a quota of its control group held the server back, percent.
    pub held_by_quota_percent: Option<f64>,
    pub quota_cpus: Option<f64>,
    /// Times that heat slowed one of its CPUs down.
    pub slowed_by_heat: Option<u64>,
    /// Clock of its CPUs beside their fastest, percent.
    pub clock_percent: Option<f64>,
}

/// An interval with its 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeRecord {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What one request takes of the CPU: the mean over the valid runs that complete at least half as much as the busiest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// CPU time, ms.
    pub per_request: f64,
    /// Its 95 % interval; absent of fewer than three runs.
    pub range: Option<RangeRecord>,
    pub runs: u32,
    /// Completions per second of these runs, lowest and highest.
    pub seen_at_per_s: RangeRecord,
    /// Requests per second that use all CPUs, by the utilisation law, if nobody else uses them; absent where their number is
    /// not known.
    pub ends_at_per_s: Option<RangeRecord>,
    /// What it differs by between runs of the same rate, percent, a standard deviation; absent of too few runs.
    pub varies_percent: Option<f64>,
}

/// What the runs of a group say about what is carried. Each with 95 % confidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundsRecord {
    /// The server carries at least this, requests per second.
    pub at_least_per_s: Option<f64>,
    pub seen_at_per_s: Option<f64>,
    /// 95th percentile of the response time, ms: below this, with 95 % confidence ...
    pub p95_below_ms: Option<f64>,
    /// ... at this rate: the highest carried one that meets the objective, and without an objective the knee, where the
    /// throughput over the mean response time is the largest.
    pub p95_at_per_s: Option<f64>,
    /// With an objective: the lowest measured rate above it, which misses the objective or has no upper bound of p95.
    pub p95_missed_at_per_s: Option<f64>,
    /// The server carries at most this, requests per second.
    pub at_most_per_s: Option<f64>,
    /// What it completed at rates above what it carries, requests per second.
    pub in_overload_per_s: Option<f64>,
    /// So many connections were all busy at the rate that was refused, while the server's CPUs were not: they may be the limit.
    pub connections: Option<f64>,
    /// What it would carry without neighbours, requests per second.
    pub by_itself_per_s: Option<RangeRecord>,
    pub cpu: Option<WorkRecord>,
    /// Share of the server's CPUs that neighbours took, percent, over all runs; absent where it cannot be seen.
    pub taken_percent: Option<f64>,
    pub runs: u32,
    /// Runs that took no part, because their generator failed or their requests did.
    pub left_out: u32,
}

impl BoundsRecord {
    pub fn is_something(&self) -> bool {
        self.at_least_per_s.is_some() || self.at_most_per_s.is_some() || self.by_itself_per_s.is_some()
    }
}

/// `written.json`: the rows of all loads of a study, those of the search among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    /// Rows by what was done.
    #[serde(flatten)]
    pub rows: Written,
    /// Loads that were killed, so that nobody knows what they wrote.
    pub unknown_loads: u32,
}

impl fmt::Display for WrittenFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(out)?;
        match self.unknown_loads {
            0 => Ok(()),
            1 => write!(out, "; 1 load was killed or failed, and what it wrote is not known"),
            lost => write!(out, "; {lost} loads were killed or failed, and what they wrote is not known"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_stored_as_it_is_shown_and_an_unknown_one_refused() {
        let stored = serde_json::to_string(&Verdict::TooShort).unwrap();
        assert_eq!(stored, format!("\"{}\"", Verdict::TooShort));
        assert_eq!(serde_json::from_str::<Verdict>(&stored).unwrap(), Verdict::TooShort);
        assert!(serde_json::from_str::<Verdict>("\"tired\"").is_err());
    }
}
