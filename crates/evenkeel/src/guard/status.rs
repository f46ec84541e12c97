//! What `evenkeel guard top` reads from a guard: a snapshot as JSON, with its reasons in words.

use crate::view::http;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_guard::control::{Sensor, values};
use evenkeel_guard::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// A snapshot as it is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Times a bound kept an idle one from lending.
    pub lent_refused: u64,
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    pub name: String,
    /// Its value; `None`: not available.
    pub value: Option<f64>,
    /// The value over its baseline near the peak.
    pub ratio: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    pub name: String,
    pub weight: u32,
    pub waiting: usize,
    /// How long the first of them has, in seconds.
    pub longest_waiting_s: f64,
    pub in_flight: usize,
    /// Sessions that pass the queue because they hold named locks.
    pub exempt: usize,
    /// Times the bound on these kept one in the queue.
    pub exempt_refused: u64,
    pub admitted: u64,
    /// Wait that half of them and 99 % of them stayed below, in seconds.
    pub wait_p50_s: Option<f64>,
    pub wait_p99_s: Option<f64>,
}

const TENANTS_MAX: usize = 50;

impl From<&Snapshot> for Status {
    fn from(snapshot: &Snapshot) -> Self {
        let (census, totals) = (&snapshot.census, &snapshot.totals);
        let mut tenants: Vec<Tenant> = census.tenants.iter().map(Tenant::from).collect();
        tenants.sort_by_key(|tenant| std::cmp::Reverse((tenant.waiting, tenant.admitted)));
        tenants.truncate(TENANTS_MAX);
        let at_s = snapshot.at.as_secs_f64();
        Self {
            at_s,
            controller: snapshot.controller.to_owned(),
            decision: snapshot.verdict.to_string(),
            held: snapshot.verdict.is_kept(),
            dry_run: snapshot.dry_run,
            trouble: None,
            limit: census.limit,
            running: census.running,
            lent: census.lent,
            lent_refused: census.lent_refused,
            loans: census.loans,
            asleep: census.asleep,
            loans_max: census.loans_max,
            loans_total: census.loans_total,
            loans_refused: census.loans_refused,
            oldest_statement_s: census.oldest.map(Nanos::as_secs_f64),
            unqueued: census.unqueued,
            by_liveness: census.by_liveness,
            waiting: census.waiting,
            reason: census.reason.to_string(),
            completions: totals.completions,
            response_s: totals.response_s,
            rolled_back: totals.rolled_back,
            overloads: totals.overloads,
            rejected: totals.rejected,
            response_p99_s: census.response_p99.map(Nanos::as_secs_f64),
            sensing_share: if at_s > 0.0 { totals.sensing_s / at_s } else { 0.0 },
            signals: signals(snapshot),
            tenants,
        }
    }
}

/// Asks the guard that serves its metrics at `address`.
///
/// # Errors
/// Nobody answers there, it is no guard, it has not begun yet, or it is of another version.
pub fn read(address: &str) -> Result<Status> {
    http::get_json(address, "/status", "start the guard with --metrics, and give its address here")
}

fn signals(snapshot: &Snapshot) -> Vec<Signal> {
    let all = Sensor::ALL.iter().zip(values(&snapshot.sample.signals));
    let signal = |(sensor, value): (&Sensor, Option<f64>)| Signal {
        name: sensor.name().to_owned(),
        value,
        ratio: value.and_then(|value| snapshot.baseline.ratio(*sensor, value)),
    };
    all.map(signal).collect()
}

impl From<&evenkeel_guard::admission::TenantCensus> for Tenant {
    fn from(census: &evenkeel_guard::admission::TenantCensus) -> Self {
        let quantile = |q| census.waits.quantile(q).map(Nanos::as_secs_f64);
        Self {
            name: census.name.clone(),
            weight: census.weight,
            waiting: census.waiting,
            longest_waiting_s: census.longest_waiting.as_secs_f64(),
            in_flight: census.in_flight,
            exempt: census.exempt,
            exempt_refused: census.exempt_refused,
            admitted: census.admitted,
            wait_p50_s: quantile(0.5),
            wait_p99_s: quantile(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let status = Status::from(&snapshot());
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        assert_eq!((status.limit, status.waiting), (4, 2));
        assert_eq!((status.loans, status.loans_max, status.oldest_statement_s), (1, 4, Some(0.5)));
        assert_eq!(status.decision, "limit 4, because it is fixed");
        assert_eq!(status.signals.iter().filter(|signal| signal.value.is_some()).count(), 1);
    }
}
