//! Events of a host that shares storage as lines on stderr.

use crate::view::log::{self, Form, Parts};
use evenkeel_share::event::Event;
use serde_json::json;

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
