//! What `evenkeel guard top` reads from a guard: of its metrics in JSON, what it shows.

use crate::view::http;
use anyhow::Result;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    pub at_s: f64,
    pub controller: String,
    /// What it decided and why.
    pub decision: String,
    /// Whether the last proven limit is kept for want of a decision.
    pub held: bool,
    pub dry_run: bool,
    /// What `/healthz` says where it is not 200.
    pub trouble: Option<String>,
    pub limit: usize,
    pub running: usize,
    /// Idle ones that lent their permit.
    pub lent: usize,
    /// Transactions that lent their permit while a statement of theirs is at the server.
    pub loans: usize,
    /// The same for statements that sleep.
    pub asleep: usize,
    pub loans_max: usize,
    pub loans_total: u64,
    /// Times their bound kept one from lending.
    pub loans_refused: u64,
    /// Age of the oldest such statement in seconds.
    pub oldest_statement_s: Option<f64>,
    pub unqueued: usize,
    pub by_liveness: usize,
    pub waiting: usize,
    pub reason: String,
    pub completions: u64,
    /// Seconds of response time of these.
    pub response_s: f64,
    pub rolled_back: u64,
    pub overloads: u64,
    pub rejected: u64,
    /// 99th percentile of recent response times in seconds.
    pub response_p99_s: Option<f64>,
    /// Share of time that reading the sensors took.
    pub sensing_share: f64,
    pub signals: Vec<Signal>,
    /// By tenant, most waiting first.
    pub tenants: Vec<Tenant>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Signal {
    pub name: String,
    /// Its value; `None`: not available.
    pub value: Option<f64>,
    /// The value over its baseline near the peak.
    pub ratio: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tenant {
    pub name: String,
    pub weight: u32,
    pub waiting: usize,
    /// How long the first of them has, in seconds.
    pub longest_waiting_s: f64,
    pub in_flight: usize,
    pub admitted: u64,
    /// Wait that half of them and 99 % of them stayed below, in seconds.
    pub wait_p50_s: Option<f64>,
    pub wait_p99_s: Option<f64>,
}

/// Asks the guard that serves its metrics at `address`.
///
/// # Errors
/// Nobody answers there, it is no guard, it has not begun yet, or it is of another version.
pub fn read(address: &str) -> Result<Status> {
    http::get_json(address, "/status", "start the guard with --metrics, and give its address here")
}

#[cfg(test)]
impl From<&evenkeel_guard::snapshot::Snapshot> for Status {
    fn from(snapshot: &evenkeel_guard::snapshot::Snapshot) -> Self {
        serde_json::from_value(super::metrics::status(snapshot)).expect("all that is read is written")
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let status = Status::from(&snapshot());
        assert_eq!((status.limit, status.waiting), (4, 2));
        assert_eq!((status.loans, status.loans_max, status.oldest_statement_s), (1, 4, Some(0.5)));
        assert_eq!((status.loans_total, status.completions, status.response_s), (1, 10, 0.04));
        assert_eq!((status.decision.as_str(), status.dry_run), ("limit 4, because it is fixed", false));
        assert_eq!(status.signals.iter().filter(|signal| signal.value.is_some()).count(), 1);
        assert_eq!((status.tenants[0].waiting, status.tenants[0].wait_p99_s.is_some()), (2, true));
    }
}
