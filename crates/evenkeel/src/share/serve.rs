//! The pages of a host that shares storage: metrics, health, status.

use super::metrics;
use crate::view::http::{Page, Server};
use crate::view::log;
use crate::view::log::{Form, Parts};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_os::Latest;
use evenkeel_os::clock::Clock;
use evenkeel_share::control::{Disk, Snapshot};
use evenkeel_share::event::Event;
use serde_json::json;

/// Periods without an end after which a host is not well.
const LATE_PERIODS: u64 = 5;
/// A disk is well again when its storage has failed at nothing for so long.
const WELL_AFTER: Nanos = Nanos::from_secs(60);

/// Serves the `latest` snapshot of the loop; ages are by `clock`.
/// Errors: the address is taken, or none.
pub fn serve(address: &str, latest: Latest<Snapshot>, clock: Clock) -> Result<Server> {
    Server::start(address, move |path| match latest.get() {
        Some(snapshot) => page(path, &snapshot, clock.now() - snapshot.at),
        None => Page::text(503, "no period has ended yet\n"),
    })
}

fn page(path: &str, snapshot: &Snapshot, age: Nanos) -> Page {
    match path {
        "/metrics" => Page::metrics(metrics::text(snapshot)),
        "/healthz" if age > Nanos(LATE_PERIODS.saturating_mul(snapshot.period.0)) => {
            Page::text(503, format!("no period has ended for {:.1} s\n", age.as_secs_f64()))
        }
        "/healthz" if sick(snapshot, age).is_some() => {
            Page::text(503, sick(snapshot, age).unwrap_or_default())
        }
        // Disks are served with the last window all the same: whoever restarts a host for this makes it worse.
        "/healthz" => Page::text(200, format!("ok: window {:.2}, {}\n", snapshot.window, snapshot.why)),
        "/status" => Page::json(&metrics::status(snapshot)),
        _ => Page::text(404, "there are /metrics, /healthz and /status\n"),
    }
}

fn sick(snapshot: &Snapshot, age: Nanos) -> Option<String> {
    let mut said = String::new();
    for Disk { name, counts, failed_at, .. } in &snapshot.disks {
        let since = failed_at.map(|at| snapshot.at - at + age);
        let last = counts.last_failure.map(|last| last.to_string()).unwrap_or_default();
        if let Some(errno) = counts.lost {
            said += &format!(
                "disk {name}: what was written may be lost ({errno}); flushes fail until a restart\n"
            );
        } else if let Some(since) = since.filter(|since| *since < WELL_AFTER) {
            said += &format!("disk {name}: the storage failed {:.0} s ago, {last}\n", since.as_secs_f64());
        }
    }
    (!said.is_empty()).then_some(said)
}

/// One event as a line without its end; `unix_ms` is the time of day.
pub fn line(event: &Event, unix_ms: u128, form: Form) -> String {
    log::line(parts(event), unix_ms, form)
}

fn parts(event: &Event) -> Parts {
    match event {
        Event::Joined { member, period, note } => {
            let fields = json!({ "member": member, "period_s": period.as_secs_f64(), "note": note });
            (if note.is_some() { "warn" } else { "info" }, "joined", fields)
        }
        Event::Window { from, to, why } => {
            ("info", "window", json!({ "from": from, "to": to, "why": why.to_string() }))
        }
        Event::Fault { fault, window } => {
            ("error", "fault", json!({ "fault": fault.to_string(), "window": window }))
        }
        Event::Recovered => ("info", "recovered", json!({})),
        Event::Outsider { latency, threshold } => {
            ("warn", "outsider", json!({ "latency_s": latency, "threshold_s": threshold }))
        }
        Event::OutsiderGone => ("info", "outsider_gone", json!({})),
        Event::Unfair { ratio } => ("warn", "unfair", json!({ "part_over_due": ratio })),
        Event::Fair => ("info", "fair", json!({})),
        Event::Came { member } => ("info", "came", json!({ "member": member })),
        Event::Gone { member } => ("info", "gone", json!({ "member": member })),
        Event::Twin { member } => ("error", "twin", json!({ "member": member })),
        Event::CostsDiffer { member } => ("warn", "costs_differ", json!({ "member": member })),
        Event::CostsAgree { member } => ("info", "costs_agree", json!({ "member": member })),
        Event::Dropped { why, count } => {
            ("warn", "dropped_reports", json!({ "reason": why.name(), "count": count }))
        }
        Event::Failed { disk, count, last } => {
            ("error", "io_failed", json!({ "disk": disk, "count": count, "last": last.to_string() }))
        }
        Event::Crowded { count, last } => ("warn", "crowded", json!({ "count": count, "last": last })),
        Event::Lost { disk, errno } => ("error", "lost", json!({ "disk": disk, "error": errno.to_string() })),
        Event::Reloaded { ignored } if ignored.is_empty() => ("info", "reloaded", json!({})),
        Event::Reloaded { ignored } => ("warn", "reloaded", json!({ "needs_a_restart": ignored.join(", ") })),
        Event::ReloadFailed { reason } => ("error", "reload_failed", json!({ "reason": reason })),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{fixture::snapshot, top};
    use super::*;
    use crate::view::http::tests::answer;
    use evenkeel_share::control::{Fault, Why};
    use evenkeel_share::{Errno, Failure};

    #[test]
    fn a_host_serves_what_it_shows_once_a_period_has_ended() {
        let (latest, clock) = (Latest::new(), Clock::start());
        let server = serve("127.0.0.1:0", latest.clone(), clock).unwrap();
        let address = server.address().to_string();
        assert_eq!(answer(&address, "/metrics").0, 503);
        latest.put(Snapshot { at: clock.now(), ..snapshot() });
        assert!(answer(&address, "/metrics").1.contains("evenkeel_share_window 8.5\n"));
        let status: top::Status = (0..30).find_map(|_| top::read(&address).ok()).unwrap();
        assert_eq!(status.members.len(), 2);
        assert_eq!(answer(&address, "/else").0, 404);
    }

    #[test]
    fn a_host_is_well_while_its_periods_end_whatever_the_bus_does() {
        let kept = Snapshot { why: Why::Kept(Fault::Unheard), fault: Some(Fault::Unheard), ..snapshot() };
        let healthy = page("/healthz", &kept, Nanos::from_secs(2));
        assert_eq!(healthy.code, 200);
        assert!(healthy.body.contains("the last window is kept"), "{}", healthy.body);
        assert_eq!(page("/healthz", &kept, Nanos::from_secs(11)).code, 503);
    }

    #[test]
    fn a_host_whose_storage_fails_is_not_well_for_a_while_and_one_that_lost_something_never_again() {
        let mut failing = snapshot();
        failing.disks[0].counts.last_failure = Some(Failure { what: "read", errno: Errno::IO });
        failing.disks[0].failed_at = Some(failing.at - Nanos::from_secs(20));
        let sick = page("/healthz", &failing, Nanos::from_secs(2));
        assert!(
            sick.code == 503 && sick.body.contains("22 s ago, read: Input/output error"),
            "{}",
            sick.body
        );
        failing.disks[0].failed_at = Some(failing.at - Nanos::from_secs(60));
        assert_eq!(page("/healthz", &failing, Nanos::ZERO).code, 200);
        failing.disks[0].counts.lost = Some(Errno::IO);
        let lost = page("/healthz", &failing, Nanos::ZERO);
        assert!(lost.code == 503 && lost.body.contains("may be lost"), "{}", lost.body);
    }
}
