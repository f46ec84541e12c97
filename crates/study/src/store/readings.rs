//! What stands in a run's file of the server's CPUs and its gauges.

use super::words::DomainRecord;
use serde::{Deserialize, Serialize};

/// CPU of a domain, percent of its capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuRecord {
    pub domain: DomainRecord,
    /// CPUs that make 100 %.
    pub cpus: f64,
    /// Utilisation theta: all but idle, iowait and steal.
    pub total_percent: f64,
    /// Time in user code, percent.
    pub user_percent: f64,
    /// Time in the kernel, percent.
    pub system_percent: f64,
    /// Waiting for disks; absent where the domain does not tell.
    pub iowait_percent: Option<f64>,
    /// Stolen by the hypervisor; absent where the domain does not tell.
    pub steal_percent: Option<f64>,
    /// Number of samples behind the means.
    pub samples: u32,
}

/// A gauge of the server, looked at again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GaugeRecord {
    pub samples: u32,
    /// Mean over these looks, in the gauge's own unit.
    pub mean: f64,
    /// Largest value seen.
    pub max: f64,
}
