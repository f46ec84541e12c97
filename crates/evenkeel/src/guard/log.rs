//! Events of a guard as lines on stderr.

use crate::view::log::{self, Form, Parts};
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
        Event::Refused { count } => counted("warn", "refused", *count, ""),
        Event::Malformed { count } => counted("warn", "malformed", *count, ""),
        Event::LoginTimeouts { count } => counted("warn", "login_timeouts", *count, LOGIN_TIMEOUTS),
        Event::ClientsRefused { count } => counted("error", "clients_refused", *count, CLIENTS_REFUSED),
        Event::Panics { count } => counted("error", "panics", *count, PANICS),
        Event::Failover { count } => counted("warn", "failover", *count, FAILOVER),
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

const LOGIN_TIMEOUTS: &str =
    "clients that did not log in within `login_max`, or a server that answers too late: see its back_log";
const CLIENTS_REFUSED: &str = "more clients than may be connected: raise `clients_max`, or, without it, open files \
                               (LimitNOFILE= in the unit, or ulimit -n)";
const FAILOVER: &str = "logins now reach another server; what still runs at the old one no longer counts";
const PANICS: &str =
    "a defect of the guard ended these sessions and no others: report it with the lines above";

/// A line for what happened so many times since the last such line, and what to do about it.
fn counted(level: &'static str, name: &'static str, count: u64, hint: &str) -> Parts {
    let mut fields = json!({ "count": count });
    if let (false, Value::Object(fields)) = (hint.is_empty(), &mut fields) {
        fields.insert("hint".into(), json!(hint));
    }
    (level, name, fields)
}

/// Which changes hold. One that needs a restart is a warning, because until then the file says what is not so.
fn reloaded(applied: &[&'static str], restart: &[&'static str]) -> Parts {
    let mut fields = json!({ "applied": applied.join(", ") });
    if let (false, Value::Object(fields)) = (restart.is_empty(), &mut fields) {
        fields.insert("restart_needed".into(), json!(restart.join(", ")));
        let hint = "these keep their old values until the guard is restarted";
        fields.insert("hint".into(), json!(hint));
    }
    (if restart.is_empty() { "info" } else { "warn" }, "reloaded", fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_names_what_holds_and_what_needs_a_restart() {
        let told = |restart| line(&Event::Reloaded { applied: vec!["drain"], restart }, 0, Form::Text);
        assert!(told(vec![]).ends_with("level=info event=reloaded applied=drain"), "{}", told(vec![]));
        let partly = told(vec!["backend", "listen"]);
        assert!(partly.contains("level=warn event=reloaded applied=drain"), "{partly}");
        assert!(partly.contains("restart_needed=\"backend, listen\""), "{partly}");
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
