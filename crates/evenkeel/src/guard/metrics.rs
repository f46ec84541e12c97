//! A snapshot as Prometheus reads it (text format 0.0.4). Pure: the same snapshot, the same text.

use super::watch::Counts;
use crate::view::prometheus::{Column, Text, escaped};
use evenkeel_core::Nanos;
use evenkeel_guard::admission::{Census, TenantCensus};
use evenkeel_guard::control::{Sensor, values};
use evenkeel_guard::snapshot::Snapshot;

/// Upper ends of the buckets of waits, in milliseconds.
const BUCKETS_MS: [u64; 10] = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 30_000, 120_000];

pub fn text(snapshot: &Snapshot, counts: &Counts) -> String {
    let mut out = Text::new("evenkeel_guard_");
    gate(&mut out, snapshot);
    totals(&mut out, snapshot);
    control(&mut out, snapshot);
    connections(&mut out, counts);
    tenants(&mut out, &snapshot.census.tenants);
    out.done()
}

fn gate(out: &mut Text, snapshot: &Snapshot) {
    let census = &snapshot.census;
    out.gauge("limit", "Most transactions that may run.", census.limit as f64);
    out.gauge("proven_limit", "Last limit under which transactions completed.", f64::from(snapshot.proven));
    out.gauge("running", "Transactions that run, lent ones left out.", census.running as f64);
    out.gauge("lent", "Idle transactions that have lent their permit.", census.lent as f64);
    out.gauge("lent_max", "Most that may lend.", census.lent_max as f64);
    out.counter("lent_refused_total", "Times this bound kept one from lending.", census.lent_refused as f64);
    loans(out, census);
    out.gauge(
        "unqueued",
        "Running without a place in the queue, as they may hold locks.",
        census.unqueued as f64,
    );
    out.gauge("by_liveness", "Running by the liveness rule.", census.by_liveness as f64);
    out.counter("liveness_total", "Admitted by the liveness rule.", census.liveness_total as f64);
    out.gauge("waiting", "Sessions in the queue.", census.waiting as f64);
    out.gauge("dry_run", "1 where nothing is held back.", f64::from(u8::from(snapshot.dry_run)));
    out.counter("would_have_queued_total", "Let through by the dry run.", census.would_have_queued as f64);
    if let Some(p99) = census.response_p99 {
        out.gauge("response_p99_seconds", "Recent response time at the server, p99.", p99.as_secs_f64());
    }
}

fn loans(out: &mut Text, census: &Census) {
    out.gauge(
        "loans",
        "Transactions whose statement runs longer than usual for its kind, permit lent.",
        census.loans as f64,
    );
    out.gauge(
        "asleep",
        "Transactions whose statement sleeps at the server, permit lent.",
        census.asleep as f64,
    );
    out.gauge("loans_max", "Most such loans.", census.loans_max as f64);
    out.counter("loans_total", "Such loans so far.", census.loans_total as f64);
    out.counter(
        "loans_refused_total",
        "Times their bound kept one from lending.",
        census.loans_refused as f64,
    );
    if let Some(oldest) = census.oldest {
        out.gauge("oldest_statement_seconds", "Age of the oldest such statement.", oldest.as_secs_f64());
    }
}

fn totals(out: &mut Text, snapshot: &Snapshot) {
    let totals = &snapshot.totals;
    out.counter("ticks_total", "Ticks of the controller.", totals.ticks as f64);
    out.counter("limit_changes_total", "Changes of the limit.", totals.changes as f64);
    out.counter("held_ticks_total", "Ticks in which the last proven limit was kept.", totals.kept as f64);
    out.head("transactions_total", "counter", "Transactions by how they ended.");
    for (outcome, count) in [
        ("success", totals.completions),
        ("rolled_back", totals.rolled_back),
        ("overload", totals.overloads),
        ("ignored", totals.ignored),
    ] {
        out.value("transactions_total", &format!("outcome=\"{outcome}\""), count as f64);
    }
    out.counter(
        "on_loan_total",
        "Successful transactions that were on loan at the server.",
        totals.on_loan as f64,
    );
    out.counter("work_total", "The successful that were not on loan, weighted by cost.", totals.work);
    out.counter("rejected_total", "Sessions refused.", totals.rejected as f64);
    out.counter(
        "response_seconds_total",
        "Response time at the server of the successful.",
        totals.response_s,
    );
    out.counter("sensing_seconds_total", "Time that reading the sensors took.", totals.sensing_s);
}

fn control(out: &mut Text, snapshot: &Snapshot) {
    out.head("controller_info", "gauge", "Which controller decides.");
    out.value("controller_info", &format!("name=\"{}\"", escaped(snapshot.controller)), 1.0);
    out.gauge(
        "fault",
        "1 while the controller or a sensor fails.",
        f64::from(u8::from(snapshot.verdict.fault.is_some())),
    );
    let signals = values(&snapshot.sample.signals);
    out.head("signal", "gauge", "What a sensor says; absent where it is not available.");
    for (sensor, value) in Sensor::ALL.iter().zip(signals) {
        if let Some(value) = value {
            out.value("signal", &format!("name=\"{}\"", sensor.name()), value);
        }
    }
    out.head("signal_ratio", "gauge", "The same over its baseline near the peak.");
    for (sensor, value) in Sensor::ALL.iter().zip(signals) {
        if let Some(ratio) = value.and_then(|value| snapshot.baseline.ratio(*sensor, value)) {
            out.value("signal_ratio", &format!("name=\"{}\"", sensor.name()), ratio);
        }
    }
}

fn connections(out: &mut Text, counts: &Counts) {
    let open = counts.accepted.saturating_sub(counts.closed);
    out.gauge("connections", "Clients that are connected.", open as f64);
    out.counter("connections_total", "Clients that were accepted.", counts.accepted as f64);
    out.counter("logins_total", "Logins that the server accepted.", counts.logins as f64);
    out.counter("refused_total", "Clients and commands turned away by the guard.", counts.refused as f64);
    out.counter(
        "malformed_total",
        "Connections ended for bytes that are no protocol.",
        counts.malformed as f64,
    );
    out.counter(
        "backend_failures_total",
        "Connections to the server that failed.",
        counts.unreachable as f64,
    );
    out.counter("commands_total", "Commands that were sent on.", counts.commands as f64);
    out.counter("resets_total", "Sessions reset for clients that left.", counts.resets as f64);
    out.counter("login_timeouts_total", "Clients too slow with their login.", counts.login_timeouts as f64);
    out.counter("clients_refused_total", "Clients beyond the most at a time.", counts.clients_refused as f64);
    out.counter(
        "failovers_total",
        "Times when another server answered at the address.",
        counts.failovers as f64,
    );
    out.counter("panics_total", "Sessions ended by a defect of the guard.", counts.panics as f64);
}

fn tenants(out: &mut Text, tenants: &[TenantCensus]) {
    let columns: [Column<TenantCensus>; 10] = [
        ("tenant_weight", "gauge", "Share of admissions while others wait.", |t| f64::from(t.weight)),
        ("tenant_waiting", "gauge", "Sessions in the queue.", |t| t.waiting as f64),
        ("tenant_longest_waiting_seconds", "gauge", "How long the first has waited.", |t| {
            t.longest_waiting.as_secs_f64()
        }),
        ("tenant_in_flight", "gauge", "Admitted and not ended, lent ones included.", |t| t.in_flight as f64),
        ("tenant_exempt", "gauge", "Sessions that pass the queue for named locks.", |t| t.exempt as f64),
        ("tenant_exempt_refused_total", "counter", "Times the bound on these kept one queueing.", |t| {
            t.exempt_refused as f64
        }),
        ("tenant_admitted_total", "counter", "Admissions.", |t| t.admitted as f64),
        ("tenant_queued_total", "counter", "Had to queue.", |t| t.queued as f64),
        ("tenant_rejected_total", "counter", "Refused.", |t| t.rejected as f64),
        ("tenant_cancelled_total", "counter", "Left the queue by themselves.", |t| t.cancelled as f64),
    ];
    out.table(tenants, label, &columns);
    out.head("wait_seconds", "histogram", "Waits of all that were admitted.");
    tenants.iter().for_each(|tenant| waits(out, tenant));
}

fn waits(out: &mut Text, tenant: &TenantCensus) {
    out.histogram("wait_seconds", &label(tenant), &tenant.waits, &BUCKETS_MS.map(Nanos::from_millis));
}

fn label(tenant: &TenantCensus) -> String {
    format!("tenant=\"{}\"", escaped(&tenant.name))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;
    use crate::view::prometheus::tests::check;

    #[test]
    fn a_snapshot_becomes_metrics() {
        let text = text(&snapshot(), &Counts { accepted: 9, closed: 2, ..Counts::default() });
        for line in [
            "evenkeel_guard_limit 4",
            "evenkeel_guard_running 4",
            "evenkeel_guard_waiting 2",
            "evenkeel_guard_loans 1",
            "evenkeel_guard_loans_max 4",
            "evenkeel_guard_loans_total 1",
            "evenkeel_guard_loans_refused_total 0",
            "evenkeel_guard_oldest_statement_seconds 0.5",
            "evenkeel_guard_tenant_exempt{tenant=\"sh\\\"op\"} 1",
            "evenkeel_guard_connections 7",
            "evenkeel_guard_transactions_total{outcome=\"success\"} 10",
            "evenkeel_guard_controller_info{name=\"fixed\"} 1",
            "evenkeel_guard_signal{name=\"cpu_per_commit\"} 0.002",
            "evenkeel_guard_tenant_waiting{tenant=\"sh\\\"op\"} 2",
            "evenkeel_guard_wait_seconds_bucket{tenant=\"sh\\\"op\",le=\"+Inf\"} 15",
            "evenkeel_guard_wait_seconds_count{tenant=\"sh\\\"op\"} 15",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("cycles_per_commit"), "not available is absent, never zero");
        check(&text);
    }
}
