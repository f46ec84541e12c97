//! What stands in the files about neighbours of a run, and about the bounds that follow from all runs.

use serde::{Deserialize, Serialize};

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
    /// How that was found: `undisturbed`, `clear-stretches`, `taken-handed-back`.
    pub by_itself_from: String,
    /// Share of the time of its runs that counted for it, percent.
    pub by_itself_coverage_percent: Option<f64>,
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
