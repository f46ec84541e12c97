//! A snapshot as Prometheus reads it, and as `evenkeel guard top` does. Pure: the same snapshot, the same pages.

use crate::view::metric::{Text, label, metrics, object};
use evenkeel_core::Nanos;
use evenkeel_core::admission::TenantCensus;
use evenkeel_core::control::{Sensor, values};
use evenkeel_guard::capture::Capture;
use evenkeel_guard::proxy::Stats;
use evenkeel_guard::snapshot::Snapshot;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::sync::atomic::Ordering;

/// Upper ends of the buckets of waits, in milliseconds.
const BUCKETS_MS: [u64; 10] = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 30_000, 120_000];
const TENANTS_MAX: usize = 50;

/// `up`: the server answers and takes logins.
pub fn text(snapshot: &Snapshot, stats: &Stats, capture: Option<&Capture>, up: bool) -> String {
    let mut out = Text::new("evenkeel_guard_");
    out.add(METRICS, snapshot);
    out.add(CONNECTIONS, stats);
    out.add(BACKEND, &up);
    if let Some(capture) = capture {
        out.add(CAPTURE, capture);
    }
    let tenants = &snapshot.census.tenants;
    let name = |tenant: &TenantCensus| label("tenant", &tenant.name);
    out.each(TENANTS, tenants, name);
    let waits: Vec<_> = tenants.iter().map(|tenant| (name(tenant), &tenant.waits)).collect();
    let bounds = BUCKETS_MS.map(Nanos::from_millis);
    out.histograms("wait_seconds", "Waits of all that were admitted.", &bounds, &waits);
    out.done()
}

pub fn status(snapshot: &Snapshot) -> Value {
    object(METRICS, "", snapshot)
}

/// Clients that are connected.
pub fn open(stats: &Stats) -> u64 {
    stats.accepted.get().saturating_sub(stats.closed.get())
}

metrics! { METRICS: |s: Snapshot|
    json "at_s" => s.at.as_secs_f64();
    json "controller" => s.controller;
    json "decision" => s.verdict.to_string();
    json "long_decision" => s.long_decision();
    json "held" => s.verdict.is_kept();
    json "reason" => s.census.reason.to_string();
    gauge "limit" "Most transactions that may run in the short lane." => s.census.lanes[0].limit;
    gauge "proven_limit" "Last limit under which transactions completed." => s.proven;
    gauge "running" "Transactions that run in the short lane." => s.census.lanes[0].running;
    gauge "waiting" "Sessions that wait for the short lane." => s.census.lanes[0].waiting;
    gauge "long_limit" "Most transactions that may run in the long lane." => s.census.lanes[1].limit;
    gauge "long_running" "Transactions that run in the long lane." => s.census.lanes[1].running;
    gauge "long_waiting" "Sessions that wait for the long lane." => s.census.lanes[1].waiting;
    gauge "long_from_seconds" "Time from which on a transaction is long." => s.census.long_from.as_secs_f64();
    counter "moved_total" "Transactions that moved to the long lane while they ran." => s.census.moved_total;
    gauge "aside" "Transactions that are idle, asleep or not read, without a place." => s.census.aside;
    gauge "aside_max" "Most that may stand aside." => s.census.aside_max;
    counter "aside_refused_total" "Times aside_max was reached." => s.census.aside_refused;
    counter "unqueued_total" "Admitted without queueing, as they may hold locks." => s.census.unqueued_total;
    counter "liveness_total" "Admitted by the liveness rule." => s.census.liveness_total;
    gauge "dry_run" "1 where nothing is held back." => s.dry_run;
    counter "would_have_queued_total" "Let through by the dry run." => s.census.would_have_queued;
    gauge "response_p99_seconds" "Recent response time at the server, p99." =>
        s.census.response_p99.map(Nanos::as_secs_f64);
    counter "ticks_total" "Ticks of the controller." => s.totals.ticks;
    counter "limit_changes_total" "Changes of the limit." => s.totals.changes;
    counter "held_ticks_total" "Ticks in which the last proven limit was kept." => s.totals.kept;
    counter "transactions_total" "Transactions by how they ended." => json!({ "outcome": {
        "success": s.totals.completions, "rolled_back": s.totals.rolled_back,
        "overload": s.totals.overloads, "ignored": s.totals.ignored,
    } });
    json "completions" => s.totals.completions;
    json "rolled_back" => s.totals.rolled_back;
    json "overloads" => s.totals.overloads;
    counter "long_total" "The successful of these that ended in the long lane or aside." => s.totals.long;
    counter "work_total" "The other successful ones, weighted by cost." => s.totals.work;
    counter "rejected_total" "Sessions refused." => s.totals.rejected;
    counter "response_seconds_total" "Response time at the server of the successful." => s.totals.response_s;
    counter "sensing_seconds_total" "Time that reading the sensors took." => s.totals.sensing_s;
    json "sensing_share" => if s.at > Nanos::ZERO { s.totals.sensing_s / s.at.as_secs_f64() } else { 0.0 };
    gauge "controller_info" "Which controller decides." => json!({ "name": { (s.controller): 1 } });
    gauge "fault" "1 while the controller or a sensor fails." => s.verdict.fault.is_some();
    gauge "signal" "What a sensor says; absent where it is not available." =>
        json!({ "name": signals(s).map(|(name, value, _)| (name, value)).collect::<Value>() });
    gauge "signal_ratio" "The same over its baseline near the peak." =>
        json!({ "name": signals(s).map(|(name, _, ratio)| (name, ratio)).collect::<Value>() });
    json "signals" => signals(s)
        .map(|(name, value, ratio)| json!({ "name": name, "value": value, "ratio": ratio }))
        .collect::<Value>();
    json "tenants" => first_tenants(s);
}

metrics! { CAPTURE: |c: Capture|
    gauge "capture_running" "Whether what passes is written to files." => u8::from(c.failed().is_none());
    counter "capture_commands_total" "Commands written to files." => c.commands.load(Ordering::Relaxed);
    counter "capture_left_out_total" "Commands that were not written." => c.left_out.load(Ordering::Relaxed);
    counter "capture_bytes_total" "Bytes written to files." => c.bytes.load(Ordering::Relaxed);
}

metrics! { CONNECTIONS: |s: Stats|
    gauge "connections" "Clients that are connected." => open(s);
    counter "connections_total" "Clients that were accepted." => s.accepted.get();
    counter "logins_total" "Logins that the server accepted." => s.logins.get();
    counter "refused_total" "Clients and commands turned away by the guard." => s.refused.get();
    counter "malformed_total" "Connections ended for bytes that are no protocol." => s.malformed.get();
    counter "runaways_total" "Statements that took longer than `runaway_max`." => s.runaways.get();
    counter "backend_failures_total" "Connections to the server that failed." => s.unreachable.get();
    counter "backend_full_total" "Logins refused by the server with error 1040." => s.backend_full.get();
    counter "commands_total" "Commands that were sent on." => s.commands.get();
    counter "resets_total" "Sessions reset for clients that left." => s.resets.get();
    counter "kept_awake_total" "Keep-alive commands to the server for queued sessions." => s.kept_awake.get();
    counter "login_timeouts_total" "Clients too slow with their login." => s.login_timeouts.get();
    counter "clients_refused_total" "Clients refused because clients_max was reached." => s.clients_refused.get();
    counter "failovers_total" "Times when another server answered at the address." => s.failovers.get();
    counter "panics_total" "Sessions ended by a defect of the guard." => s.panics.get();
}

metrics! { BACKEND: |up: bool|
    gauge "backend_up" "1 while the server answers and takes logins." => *up;
}

metrics! { TENANTS: |t: TenantCensus|
    json "name" => t.name.as_str();
    gauge "tenant_weight" "Share of admissions while others wait." => t.weight;
    gauge "tenant_waiting" "Sessions in the queue." => t.waiting;
    gauge "tenant_longest_waiting_seconds" "How long the first has waited." =>
        t.longest_waiting.as_secs_f64();
    gauge "tenant_in_flight" "Admitted and not ended, those aside included." => t.in_flight();
    gauge "tenant_exempt" "Sessions that pass the queue for named locks." => t.exempt;
    counter "tenant_exempt_refused_total" "Times the bound on these kept one queueing." => t.exempt_refused;
    counter "tenant_admitted_total" "Admissions." => t.admitted;
    counter "tenant_queued_total" "Had to queue." => t.queued;
    counter "tenant_rejected_total" "Refused." => t.rejected;
    counter "tenant_cancelled_total" "Left the queue by themselves." => t.cancelled;
    json "wait_p50_s" => t.waits.quantile(0.5).map(Nanos::as_secs_f64);
    json "wait_p99_s" => t.waits.quantile(0.99).map(Nanos::as_secs_f64);
}

/// Name of a sensor, its value, and that over its baseline near the peak; `None`: not available.
fn signals(s: &Snapshot) -> impl Iterator<Item = (&'static str, Option<f64>, Option<f64>)> {
    Sensor::ALL.into_iter().zip(values(&s.sample.signals)).map(move |(sensor, value)| {
        (sensor.name(), value, value.and_then(|value| s.baseline.ratio(sensor, value)))
    })
}

/// Most waiting first, and no more than a screen shows.
fn first_tenants(s: &Snapshot) -> Value {
    let mut tenants: Vec<_> = s.census.tenants.iter().collect();
    tenants.sort_by_key(|tenant| Reverse((tenant.waiting, tenant.admitted)));
    tenants.into_iter().take(TENANTS_MAX).map(|tenant| object(TENANTS, "tenant_", tenant)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;
    use crate::view::metric::tests::check;

    #[test]
    fn a_snapshot_becomes_metrics() {
        let stats = Stats::default();
        (0..9).for_each(|_| stats.accepted.add());
        (0..2).for_each(|_| stats.closed.add());
        let text = text(&snapshot(), &stats, None, true);
        for line in [
            "evenkeel_guard_limit 4",
            "evenkeel_guard_running 4",
            "evenkeel_guard_waiting 1",
            "evenkeel_guard_long_limit 2",
            "evenkeel_guard_long_running 1",
            "evenkeel_guard_long_waiting 0",
            "evenkeel_guard_long_from_seconds 0.2",
            "evenkeel_guard_moved_total 1",
            "evenkeel_guard_aside 1",
            "evenkeel_guard_aside_max 1000",
            "evenkeel_guard_tenant_exempt{tenant=\"sh\\\"op\"} 1",
            "evenkeel_guard_connections 7",
            "evenkeel_guard_backend_up 1",
            "evenkeel_guard_transactions_total{outcome=\"success\"} 10",
            "evenkeel_guard_controller_info{name=\"fixed\"} 1",
            "evenkeel_guard_signal{name=\"cpu_per_commit\"} 0.002",
            "evenkeel_guard_tenant_waiting{tenant=\"sh\\\"op\"} 1",
            "evenkeel_guard_wait_seconds_bucket{tenant=\"sh\\\"op\",le=\"+Inf\"} 16",
            "evenkeel_guard_wait_seconds_count{tenant=\"sh\\\"op\"} 16",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("cycles_per_commit"), "not available is absent, never zero");
        check(&text);
        let status = status(&snapshot());
        assert_eq!(status.as_object().map(|keys| keys.len()), Some(METRICS.len()), "two have one key");
    }
}
