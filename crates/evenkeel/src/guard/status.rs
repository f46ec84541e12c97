//! What `evenkeel guard top` reads from a guard: a snapshot as JSON, with its reasons in words.

use crate::failure::WithHint;
use crate::view::http;
use anyhow::{Result, bail};
use evenkeel_core::Nanos;
use evenkeel_guard::control::{Sensor, values};
use evenkeel_guard::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// Version of the form.
pub const VERSION: u32 = 2;

/// A snapshot as it is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the form.
    pub version: u32,
    /// Seconds since the guard started.
    pub at_s: f64,
    /// Name of the controller.
    pub controller: String,
    /// What it decided and why.
    pub decision: String,
    /// Whether the last proven limit is kept for want of a decision.
    pub held: bool,
    /// Nothing is held back.
    pub dry_run: bool,
    /// What `/healthz` says where it is not 200.
    pub trouble: Option<String>,
    /// Most transactions that may run.
    pub limit: usize,
    /// Transactions that run.
    pub running: usize,
    /// Idle ones that lent their permit.
    pub lent: usize,
    /// Times a bound kept an idle one from lending.
    pub lent_refused: u64,
    /// Transactions that lent their permit while a statement of theirs is at the server.
    pub loans: usize,
    /// The same for statements that sleep.
    pub asleep: usize,
    /// Most such loans.
    pub loans_max: usize,
    /// Such loans since the start.
    pub loans_total: u64,
    /// Times their bound kept one from lending.
    pub loans_refused: u64,
    /// Age of the oldest such statement in seconds.
    pub oldest_statement_s: Option<f64>,
    /// Running without queueing.
    pub unqueued: usize,
    /// Running by the liveness rule.
    pub by_liveness: usize,
    /// Sessions that wait.
    pub waiting: usize,
    /// The name of the reason.
    pub reason: String,
    /// Successful transactions since the start.
    pub completions: u64,
    /// Seconds of response time of these.
    pub response_s: f64,
    /// Rolled back by the server since the start.
    pub rolled_back: u64,
    /// Failed by overload since the start.
    pub overloads: u64,
    /// Refused since the start.
    pub rejected: u64,
    /// 99th percentile of recent response times in seconds.
    pub response_p99_s: Option<f64>,
    /// Share of time that reading the sensors took.
    pub sensing_share: f64,
    /// The readings of the sensors.
    pub signals: Vec<Signal>,
    /// By tenant, most waiting first.
    pub tenants: Vec<Tenant>,
}

/// The reading of a sensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// The name of the sensor or tenant.
    pub name: String,
    /// Its value; `None`: not available.
    pub value: Option<f64>,
    /// The value over its baseline near the peak.
    pub ratio: Option<f64>,
}

/// The sessions of a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// User or database.
    pub name: String,
    /// Share of admissions.
    pub weight: u32,
    /// Sessions that wait.
    pub waiting: usize,
    /// How long the first of them has, in seconds.
    pub longest_waiting_s: f64,
    /// Admitted and not ended.
    pub in_flight: usize,
    /// Sessions that pass the queue because they hold named locks.
    pub exempt: usize,
    /// Times the bound on these kept one in the queue.
    pub exempt_refused: u64,
    /// Admitted since the start.
    pub admitted: u64,
    /// Wait that half of them and 99 % of them stayed below, in seconds.
    pub wait_p50_s: Option<f64>,
    /// The 99th percentile of the same.
    pub wait_p99_s: Option<f64>,
}

/// Tenants that are shown.
const TENANTS_MAX: usize = 50;

impl From<&Snapshot> for Status {
    fn from(snapshot: &Snapshot) -> Self {
        let (census, totals) = (&snapshot.census, &snapshot.totals);
        let mut tenants: Vec<Tenant> = census.tenants.iter().map(Tenant::from).collect();
        tenants.sort_by_key(|tenant| std::cmp::Reverse((tenant.waiting, tenant.admitted)));
        tenants.truncate(TENANTS_MAX);
        let at_s = snapshot.at.as_secs_f64();
        Self {
            version: VERSION,
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
/// Nobody answers there, it is no guard, it has not ticked yet, or it speaks another version.
pub fn read(address: &str) -> Result<Status> {
    let hint = "start the guard with --metrics, and give its address here";
    let (code, body) = http::get(address, "/status").hint(hint)?;
    if code != 200 {
        bail!("{address} answers {code}: {}", body.trim());
    }
    let status: Status = serde_json::from_str(&body).hint(hint)?;
    if status.version != VERSION {
        bail!("the guard at {address} speaks version {} of its status, this is {VERSION}", status.version);
    }
    Ok(status)
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
