//! Events of a guard as lines on stderr.

use crate::view::log::{self, Form, Parts};
use evenkeel_core::control::Reason;
use evenkeel_gate::event::Event;
use serde_json::json;

/// Whether the event is one of the many probes of a controller, there and back again: the journal has them,
/// and a log of some lines a second would hide everything else.
pub fn is_routine(event: &Event) -> bool {
    let Event::Limit { verdict, .. } = event else { return false };
    verdict.decision.is_some_and(|decision| {
        matches!(
            decision.why,
            Reason::Trying { .. }
                | Reason::Measuring { .. }
                | Reason::NotBetter(_)
                | Reason::CannotFill { .. }
        )
    })
}

/// One event as a line without its end; `unix_ms` is the time of day.
pub fn line(event: &Event, unix_ms: u128, form: Form) -> String {
    log::line(parts(event), unix_ms, form)
}

fn parts(event: &Event) -> Parts {
    match event {
        Event::Listening { address, backend, metrics } => {
            ("info", "listening", json!({ "address": address, "backend": backend, "metrics": metrics }))
        }
        Event::Limit { from, verdict, dry_run } => (
            "info",
            "limit",
            json!({ "from": from, "to": verdict.limit, "why": verdict.to_string(), "dry_run": dry_run }),
        ),
        Event::Fault { fault, limit } => {
            ("error", "fault", json!({ "fault": fault.to_string(), "limit": limit }))
        }
        Event::Recovered => ("info", "recovered", json!({})),
        Event::Sensors(available) => (
            "info",
            "sensors",
            json!({
                "process": available.process,
                "counters": available.counters,
                "pressure": available.pressure,
                "status": available.status,
            }),
        ),
        Event::Liveness { admitted, after } => {
            ("warn", "liveness", json!({ "admitted": admitted, "after_s": after.as_secs_f64() }))
        }
        Event::Refused { count } => ("warn", "refused", json!({ "count": count })),
        Event::Malformed { count } => ("warn", "malformed", json!({ "count": count })),
        Event::BackendDown { failed } => ("error", "backend_down", json!({ "failed": failed })),
        Event::BackendUp => ("info", "backend_up", json!({})),
        Event::Reloaded => ("info", "reloaded", json!({})),
        Event::ReloadFailed { reason } => ("error", "reload_failed", json!({ "reason": reason })),
        Event::JournalLost { reason } => ("error", "journal_lost", json!({ "reason": reason })),
        Event::Draining { running, deadline } => {
            ("info", "draining", json!({ "running": running, "deadline_s": deadline.as_secs_f64() }))
        }
        Event::Drained { cut } => ("info", "drained", json!({ "cut": cut })),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::verdict;
    use super::*;
    use evenkeel_gate::control::Verdict;
    use serde_json::Value;

    #[test]
    fn a_line_can_be_read_by_people() {
        let event = Event::Limit { from: 5, verdict: verdict(), dry_run: false };
        let expected = "time_ms=1000 level=info event=limit dry_run=false from=5 to=4 why=\"limit 4, because it is fixed\"";
        assert_eq!(line(&event, 1_000, Form::Text), expected);
    }

    #[test]
    fn probes_are_routine_and_everything_else_is_told() {
        let limit = |why| {
            let decision = evenkeel_core::control::Decision { limit: 4, why };
            Event::Limit {
                from: 5,
                verdict: Verdict { decision: Some(decision), ..verdict() },
                dry_run: false,
            }
        };
        assert!(is_routine(&limit(Reason::Measuring { completions: 7 })));
        assert!(!is_routine(&limit(Reason::Fixed)) && !is_routine(&Event::Reloaded));
        let held = Verdict { decision: None, ..verdict() };
        assert!(!is_routine(&Event::Limit { from: 5, verdict: held, dry_run: false }));
    }

    #[test]
    fn a_line_can_be_read_by_machines_whatever_is_in_it() {
        let event = Event::ReloadFailed { reason: "line 1\nline \"2\"".into() };
        let json = line(&event, 7, Form::Json);
        assert!(!json.contains('\n'));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&value["event"], &value["reason"]),
            (&json!("reload_failed"), &json!("line 1\nline \"2\""))
        );
        assert!(!line(&event, 7, Form::Text).contains('\n'));
    }
}
