//! Events of a guard as lines on stderr.

use crate::view::log::{self, Form, Parts};
use evenkeel_core::admission::LaneCensus;
use evenkeel_core::control::Reason;
use evenkeel_core::control::Verdict;
use evenkeel_guard::event::Event;
use evenkeel_guard::proxy::{Address, Count, Stats};
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
        Event::Start { limit, why } => ("info", "start", json!({ "limit": limit, "why": why })),
        Event::Limit { from, verdict, dry_run } => (
            "info",
            "limit",
            json!({ "from": from, "to": verdict.limit, "why": verdict.to_string(), "dry_run": dry_run }),
        ),
        Event::MaxLimit { from, to } => max_limit(*from, *to),
        Event::Lanes(lanes) => lanes_told(lanes),
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
        Event::Malformed { client, why, others } => {
            ("warn", "malformed", json!({ "client": client, "why": why, "others": others }))
        }
        Event::Runaway { last, others } => {
            let digest = format!("{:016x}", last.digest);
            let told = json!({ "user": last.user, "thread": last.thread, "digest": digest, "seconds": last.lasted.as_secs_f64(), "others": others });
            ("warn", "runaway", told)
        }
        Event::BackendDown { backend, failed, why } => {
            ("error", "backend_down", json!({ "backend": backend, "failed": failed, "why": why }))
        }
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

fn max_limit(from: u32, to: u32) -> Parts {
    let why = format!("limit {to}, because `max_limit` allows no more than {to} from now on");
    ("info", "limit", json!({ "from": from, "to": to, "why": why }))
}

fn lanes_told([(short, why), (long, long_why)]: &[(LaneCensus, String); 2]) -> Parts {
    let told = json!({
        "limit": short.limit, "running": short.running, "waiting": short.waiting, "why": why, "long_limit": long.limit,
        "long_running": long.running, "long_waiting": long.waiting, "long_why": long_why,
    });
    ("info", "lanes", told)
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

/// A count whose growth is an event.
struct Told {
    level: &'static str,
    name: &'static str,
    hint: &'static str,
    of: fn(&Stats) -> &Count,
}

const TOLD: [Told; 5] = [
    Told { level: "warn", name: "refused", hint: "", of: |stats| &stats.refused },
    Told {
        level: "warn",
        name: "login_timeouts",
        hint: "clients that did not log in within `login_max`, or a server that answers too late: see its back_log",
        of: |stats| &stats.login_timeouts,
    },
    Told {
        level: "error",
        name: "clients_refused",
        hint: "more clients than may be connected: raise `clients_max`, or, without it, open files (LimitNOFILE= in the \
               unit, or ulimit -n)",
        of: |stats| &stats.clients_refused,
    },
    Told {
        level: "error",
        name: "panics",
        hint: "a defect of the guard ended these sessions and no others: report it with the lines above",
        of: |stats| &stats.panics,
    },
    Told {
        level: "warn",
        name: "failover",
        hint: "logins now reach another server; what still runs at the old one no longer counts",
        of: |stats| &stats.failovers,
    },
];

/// Turns counts into events, at most one of each kind for each look.
#[derive(Debug, Default)]
pub struct Watch {
    told: [u64; TOLD.len()],
    malformed: u64,
    runaways: u64,
    unreachable: u64,
    logins: u64,
    down: bool,
    /// While it was down, somebody knew why: it is up again when he knows nothing any more.
    known: bool,
    warned: bool,
}

impl Watch {
    /// `trouble`: why the server serves no clients, where that is known.
    pub fn look(&mut self, stats: &Stats, backend: &Address, trouble: Option<String>) -> Vec<Event> {
        let mut events = Vec::new();
        for (&Told { level, name, hint, of }, last) in TOLD.iter().zip(&mut self.told) {
            let count = growth(last, of(stats));
            if count > 0 {
                events.push(Event::Counted { level, name, count, hint });
            }
        }
        let malformed = growth(&mut self.malformed, &stats.malformed);
        if malformed > 0 {
            let (client, why) = stats.last_malformed();
            events.push(Event::Malformed { client, why, others: malformed - 1 });
        }
        let runaways = growth(&mut self.runaways, &stats.runaways);
        if let Some(last) = stats.last_runaway().filter(|_| runaways > 0) {
            events.push(Event::Runaway { last, others: runaways - 1 });
        }
        let failed = growth(&mut self.unreachable, &stats.unreachable);
        let logins = growth(&mut self.logins, &stats.logins);
        let is_down = failed > 0 || trouble.is_some();
        self.known |= trouble.is_some();
        if is_down && !self.down {
            let why = trouble.unwrap_or_else(|| stats.why_unreachable());
            events.push(Event::BackendDown { backend: backend.to_string(), failed, why });
        } else if self.down && !is_down && (logins > 0 || self.known) {
            events.push(Event::BackendUp);
            (self.down, self.known) = (false, false);
        }
        self.down |= is_down;
        if stats.without_tls.get() > 0 && !std::mem::replace(&mut self.warned, true) {
            events.push(without_tls());
        }
        events
    }
}

fn without_tls() -> Event {
    Event::Warned {
        about: "tls",
        text: "the server offers TLS and this guard offers none: clients that prefer it (`--ssl`) reach the \
               guard unencrypted, those that require it cannot connect, and accounts with REQUIRE SSL cannot log in"
            .into(),
        hint: "give the guard a certificate: `certificate` and `key`, or `self_signed`, under [client_tls]".into(),
    }
}

/// How much a count has grown since the last look.
fn growth(last: &mut u64, count: &Count) -> u64 {
    let now = count.get();
    now - std::mem::replace(last, now)
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
    fn each_lane_is_told_with_what_runs_and_waits_and_why() {
        let told = line(&super::super::fixture::snapshot().lanes().unwrap(), 0, Form::Text);
        for part in [
            "event=lanes limit=4 ",
            "why=\"limit 4, because it is fixed\"",
            "long_running=1",
            "long_why=\"limit 2, because with 3, short transactions lose 12 %\"",
        ] {
            assert!(told.contains(part), "{part} is missing in {told}");
        }
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

    fn add(count: &Count, times: u64) {
        (0..times).for_each(|_| count.add());
    }

    #[test]
    fn a_server_that_is_down_is_told_once_and_again_when_it_is_back() {
        let (mut watch, stats) = (Watch::default(), Stats::default());
        let mut after = |failed, logins| {
            (0..failed).for_each(|_| stats.count_unreachable("refused".into()));
            add(&stats.logins, logins);
            watch.look(&stats, &Address::Unix("/s".into()), None)
        };
        assert_eq!(after(0, 5), []);
        let down = Event::BackendDown { backend: "/s".into(), failed: 3, why: "refused".into() };
        assert_eq!(after(3, 0), [down]);
        assert_eq!(after(6, 0), []);
        assert_eq!(after(0, 0), []);
        assert_eq!(after(0, 1), [Event::BackendUp]);
        assert_eq!(after(0, 1), []);
    }

    #[test]
    fn a_server_that_says_nothing_is_told_without_any_login() {
        let (mut watch, stats) = (Watch::default(), Stats::default());
        let mut after = |why: Option<&str>| {
            let events = watch.look(&stats, &Address::Unix("/s".into()), why.map(Into::into));
            events.iter().map(|event| parts(event).1).collect::<Vec<_>>()
        };
        let told = [None, Some("silent"), Some("full"), None, None].map(&mut after);
        assert_eq!(told, [vec![], vec!["backend_down"], vec![], vec!["backend_up"], vec![]]);
    }

    #[test]
    fn of_many_malformed_connections_the_last_is_named() {
        let (mut watch, stats) = (Watch::default(), Stats::default());
        (1..=1_000)
            .for_each(|port| stats.count_malformed(format!("10.0.0.9:{port}"), "malformed reply".into()));
        let told = watch.look(&stats, &Address::Unix("/s".into()), None);
        let lines: Vec<_> = told.iter().map(|event| line(event, 0, Form::Text)).collect();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        let named = "event=malformed client=10.0.0.9:1000 others=999 why=\"malformed reply\"";
        assert!(line.ends_with(named), "{line}");
        assert_eq!(watch.look(&stats, &Address::Unix("/s".into()), None), []);
    }

    #[test]
    fn refusals_are_told_as_a_number_not_each() {
        let (mut watch, stats) = (Watch::default(), Stats::default());
        let mut told = || {
            let counted = |event| match event {
                Event::Counted { name, count, .. } => (name, count),
                other => panic!("{other:?}"),
            };
            watch.look(&stats, &Address::Unix("/s".into()), None).into_iter().map(counted).collect::<Vec<_>>()
        };
        add(&stats.refused, 1_000);
        assert_eq!(told(), [("refused", 1_000)]);
        assert!(told().is_empty());
        add(&stats.clients_refused, 40);
        add(&stats.panics, 1);
        assert_eq!(told(), [("clients_refused", 40), ("panics", 1)]);
    }
}
