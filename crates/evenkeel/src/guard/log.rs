//! Events of a guard as lines on stderr.

use crate::view::log::{self, Form, Parts};
use evenkeel_core::control::Reason;
use evenkeel_guard::control::Verdict;
use evenkeel_guard::event::Event;
use serde_json::{Value, json};

/// One event as a line without its end; `unix_ms` is the time of day.
pub fn line(event: &Event, unix_ms: u128, form: Form) -> String {
    log::line(parts(event), unix_ms, form)
}

fn parts(event: &Event) -> Parts {
    match event {
        Event::Listening { address, backend, metrics, fingerprint } => {
            let told = json!({
                "address": address, "backend": backend, "metrics": metrics, "certificate_sha256": fingerprint,
            });
            ("info", "listening", told)
        }
        Event::Limit { from, verdict, dry_run } => (
            "info",
            "limit",
            json!({ "from": from, "to": verdict.limit, "why": verdict.to_string(), "dry_run": dry_run }),
        ),
        Event::MaxLimit { from, to } => {
            let why = format!("limit {to}, because `max_limit` allows no more than {to} from now on");
            ("info", "limit", json!({ "from": from, "to": to, "why": why }))
        }
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
        Event::Counted { level, name, count, hint } => {
            (*level, *name, hinted(json!({ "count": count }), hint))
        }
        Event::BackendDown { failed } => ("error", "backend_down", json!({ "failed": failed })),
        Event::BackendUp => ("info", "backend_up", json!({})),
        Event::Warned { about, text, hint } => {
            ("warn", "warning", json!({ "about": about, "text": text, "hint": hint }))
        }
        Event::Reloaded { applied, restart } => reloaded(applied, restart),
        Event::ReloadFailed { reason } => ("error", "reload_failed", json!({ "reason": reason })),
        Event::JournalLost { reason } => ("error", "journal_lost", json!({ "reason": reason })),
        Event::Draining { running, deadline } => {
            ("info", "draining", json!({ "running": running, "deadline_s": deadline.as_secs_f64() }))
        }
        Event::Drained { cut } => ("info", "drained", json!({ "cut": cut })),
    }
}

/// Fields with what to do about them, if anything is.
fn hinted(mut fields: Value, hint: &str) -> Value {
    if !hint.is_empty() {
        fields["hint"] = hint.into();
    }
    fields
}

/// Which changes hold. One that needs a restart is a warning, because until then the file says what is not so.
fn reloaded(applied: &[&'static str], restart: &[&'static str]) -> Parts {
    let mut fields = json!({ "applied": applied.join(", ") });
    if restart.is_empty() {
        return ("info", "reloaded", fields);
    }
    fields["restart_needed"] = restart.join(", ").into();
    ("warn", "reloaded", hinted(fields, "these keep their old values until the guard is restarted"))
}

/// Whether it is a step of the limit that decides nothing by itself: a probe, there and back again, or the move that a simple
/// controller makes at every look. The log counts these; what decides something has a line of its own.
pub fn is_step(event: &Event) -> bool {
    use Reason::{CannotFill, Measuring, NotBetter, Reflection, Trying};
    let Event::Limit { verdict: Verdict { decision: Some(decision), .. }, .. } = event else { return false };
    matches!(
        decision.why,
        Trying { .. } | Measuring { .. } | NotBetter(_) | CannotFill { .. } | Reflection { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::verdict;
    use super::*;
    use evenkeel_core::control::{Decision, Hint};

    #[test]
    fn a_reload_names_what_holds_and_what_needs_a_restart() {
        let told = |restart| line(&Event::Reloaded { applied: vec!["drain"], restart }, 0, Form::Text);
        assert!(told(vec![]).ends_with("level=info event=reloaded applied=drain"), "{}", told(vec![]));
        let partly = told(vec!["backend", "listen"]);
        assert!(partly.contains("level=warn event=reloaded applied=drain"), "{partly}");
        assert!(partly.contains("restart_needed=\"backend, listen\""), "{partly}");
    }

    #[test]
    fn a_probe_is_a_step_and_what_decides_something_is_none() {
        let limit = |why| {
            let decision = Some(Decision { limit: 5, why });
            Event::Limit { from: 4, verdict: Verdict { decision, ..verdict() }, dry_run: false }
        };
        assert!(is_step(&limit(Reason::Trying { in_use: 5, because: Hint::Turn })));
        assert!(!is_step(&limit(Reason::Brake { from: 9, because: Hint::Locks })));
        let kept = Event::Limit { from: 5, verdict: Verdict { decision: None, ..verdict() }, dry_run: false };
        assert!(!is_step(&kept) && !is_step(&Event::MaxLimit { from: 9, to: 4 }));
    }

    #[test]
    fn a_line_can_be_read_by_machines_whatever_is_in_it() {
        let event = Event::ReloadFailed { reason: "line 1\nline \"2\"".into() };
        let json = line(&event, 7, Form::Json);
        assert!(!json.contains('\n'));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&value["event"], &value["reason"], &value["time_ms"], &value["time"]),
            (
                &json!("reload_failed"),
                &json!("line 1\nline \"2\""),
                &json!(7),
                &json!("1970-01-01T00:00:00.007Z")
            )
        );
        assert!(!line(&event, 7, Form::Text).contains('\n'));
    }
}
