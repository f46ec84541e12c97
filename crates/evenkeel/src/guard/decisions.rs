//! Changes of the limit in the log: every one of them is counted there, and the log can still be read.
//!
//! A controller that looks for the best limit changes it some times a second: it tries another one, and goes back. These
//! steps are gathered into one line, every ten seconds at most: how many there were, between which limits, how many
//! of each kind, and the last one's reason in words. What decides something (a better limit was found, a collapse was met)
//! has a line of its own, at once. The counts of both kinds of lines add up to the changes that the metrics count.

use crate::view::log::Parts;
use evenkeel_core::Nanos;
use evenkeel_core::control::Reason;
use evenkeel_guard::control::Verdict;
use evenkeel_guard::event::Event;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Time from the first step that is gathered to the line with all of them.
const GATHERED_FOR: Nanos = Nanos::from_secs(10);

/// Which changes of the limit have a line each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoggedDecisions {
    /// Decisive ones; steps between them share a line, at most every 10 s
    #[default]
    Decisive,
    /// All
    All,
}

impl LoggedDecisions {
    pub const NAMES: [(&str, Self); 2] = [("decisive", Self::Decisive), ("all", Self::All)];
}

/// The steps that were gathered and are not logged yet.
#[derive(Debug, Default)]
pub struct Decisions {
    gathered: Option<Gathered>,
}

#[derive(Debug)]
struct Gathered {
    since: Nanos,
    changes: u64,
    least: u32,
    most: u32,
    kinds: BTreeMap<&'static str, u64>,
    last: Verdict,
    dry_run: bool,
}

impl Decisions {
    /// Keeps the event for later where it is a step that shares a line with others. Whether it did.
    pub fn keep(&mut self, event: &Event, logged: LoggedDecisions, now: Nanos) -> bool {
        let Event::Limit { from, verdict, dry_run } = event else { return false };
        let step = verdict.decision.and_then(|decision| step(&decision.why));
        let (Some(kind), LoggedDecisions::Decisive) = (step, logged) else { return false };
        let (least, most) = (verdict.limit.min(*from), verdict.limit.max(*from));
        let gathered = self.gathered.get_or_insert_with(|| Gathered {
            since: now,
            changes: 0,
            least,
            most,
            kinds: BTreeMap::new(),
            last: *verdict,
            dry_run: *dry_run,
        });
        gathered.changes += 1;
        gathered.least = gathered.least.min(least);
        gathered.most = gathered.most.max(most);
        *gathered.kinds.entry(kind).or_default() += 1;
        (gathered.last, gathered.dry_run) = (*verdict, *dry_run);
        true
    }

    /// The line of the steps that were gathered, once the first of them is old enough.
    pub fn due(&mut self, now: Nanos) -> Option<Parts> {
        let is_due = self.gathered.as_ref().is_some_and(|gathered| now - gathered.since >= GATHERED_FOR);
        if is_due { self.rest() } else { None }
    }

    pub fn rest(&mut self) -> Option<Parts> {
        let Gathered { changes, least, most, kinds, last, dry_run, .. } = self.gathered.take()?;
        let mut fields = json!({
            "changes": changes,
            "least": least,
            "most": most,
            "to": last.limit,
            "why": last.to_string(),
            "dry_run": dry_run,
        });
        if let Value::Object(fields) = &mut fields {
            fields.extend(kinds.into_iter().map(|(kind, count)| (kind.to_owned(), json!(count))));
        }
        Some(("info", "limits", fields))
    }
}

/// The kind of a step that decides nothing by itself: a probe, there and back again, or the move that a simple controller makes
/// at every look. `None` for all others.
fn step(why: &Reason) -> Option<&'static str> {
    match why {
        Reason::Trying { .. } => Some("trying"),
        Reason::Measuring { .. } => Some("measuring"),
        Reason::NotBetter(_) => Some("not_better"),
        Reason::CannotFill { .. } => Some("cannot_fill"),
        Reason::Reflection { .. } => Some("reflection"),
        Reason::Fixed
        | Reason::Start
        | Reason::NotFull { .. }
        | Reason::Silent { .. }
        | Reason::NotInForce { .. }
        | Reason::Draining { .. }
        | Reason::Better { .. }
        | Reason::Settled { .. }
        | Reason::Changed { .. }
        | Reason::StrainChanged
        | Reason::LookDue
        | Reason::ChangedAgain { .. }
        | Reason::Brake { .. }
        | Reason::MemoryCap { .. }
        | Reason::BadSample
        | Reason::NoSignal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::verdict;
    use super::*;
    use evenkeel_core::control::{Decision, Evidence, Hint};

    fn limit(from: u32, to: u32, why: Reason) -> Event {
        let decision = Decision { limit: to, why };
        Event::Limit {
            from,
            verdict: Verdict { limit: to, decision: Some(decision), fault: None },
            dry_run: false,
        }
    }

    fn steps() -> Vec<Event> {
        let worse = Evidence { limit: 6, gain: -0.05, se: 0.01, sure: 0.99 };
        vec![
            limit(5, 6, Reason::Trying { in_use: 5, because: Hint::Turn }),
            limit(6, 5, Reason::Measuring { completions: 9 }),
            limit(5, 9, Reason::Trying { in_use: 5, because: Hint::Momentum }),
            limit(9, 5, Reason::NotBetter(worse)),
        ]
    }

    #[test]
    fn steps_are_told_together_and_add_up() {
        let mut decisions = Decisions::default();
        let start = Nanos::from_secs(100);
        for event in steps() {
            assert!(decisions.keep(&event, LoggedDecisions::Decisive, start), "{event:?}");
        }
        assert_eq!(decisions.due(start + GATHERED_FOR - Nanos(1)), None);
        let (level, name, fields) = decisions.due(start + GATHERED_FOR).expect("it is due");
        assert_eq!((level, name), ("info", "limits"));
        let expected = json!({
            "changes": 4, "least": 5, "most": 9, "to": 5, "dry_run": false,
            "trying": 2, "measuring": 1, "not_better": 1,
            "why": "limit 5, because 6 gave 5 % less (sure to 99 %)",
        });
        assert_eq!(fields, expected);
        assert_eq!(decisions.rest(), None);
    }

    #[test]
    fn what_decides_something_is_told_by_itself() {
        let mut decisions = Decisions::default();
        let better = Evidence { limit: 9, gain: 0.2, se: 0.01, sure: 0.99 };
        let held = Event::Limit { from: 5, verdict: Verdict { decision: None, ..verdict() }, dry_run: false };
        for event in [
            limit(5, 9, Reason::Better { left: 5, evidence: better }),
            limit(9, 4, Reason::Brake { from: 9, because: Hint::Locks }),
            held,
            Event::MaxLimit { from: 9, to: 4 },
            Event::Recovered,
        ] {
            assert!(!decisions.keep(&event, LoggedDecisions::Decisive, Nanos::ZERO), "{event:?}");
        }
        assert_eq!(decisions.rest(), None);
    }

    #[test]
    fn whoever_wants_all_of_them_gets_a_line_each() {
        let mut decisions = Decisions::default();
        assert!(steps().iter().all(|event| !decisions.keep(event, LoggedDecisions::All, Nanos::ZERO)));
        assert_eq!(decisions.rest(), None);
    }
}
