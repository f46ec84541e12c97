//! What the writers saw, from their ledger.

use crate::ledger::{Fate, Ledger};
use evenkeel_core::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// Instants in seconds after the fault; negative before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Acknowledged last before the longest time in which nothing was.
    pub last_success_s: Option<f64>,
    /// The first write that was refused or had no answer, or the first login that failed.
    pub first_error_s: Option<f64>,
    /// The fault was noticed.
    pub detected_s: f64,
    /// A replica took writes.
    pub promoted_s: f64,
    /// Acknowledged first after the longest time.
    pub first_success_s: Option<f64>,
    /// Writes that were refused, by the server's code; lost connections are code 0.
    pub errors: BTreeMap<u16, u64>,
    /// Logins that failed.
    pub logins_failed: u64,
}

impl Timeline {
    /// Of a ledger, with the instants of fault, detection and promotion on its clock.
    pub(super) fn of(ledger: &Ledger, [fault, detected, promoted]: [Nanos; 3]) -> Self {
        let after = |at: Nanos| (at.0 as f64 - fault.0 as f64) / 1e9;
        let gap = longest_gap(ledger, fault);
        let mut errors = BTreeMap::new();
        let mut instants: Vec<Nanos> = ledger.down.iter().map(|(at, _)| *at).collect();
        let logins_failed = instants.len() as u64;
        for entry in ledger.entries.values() {
            let code = match entry.fate {
                Fate::Acknowledged => continue,
                Fate::Refused(code) => code,
                Fate::Unknown => 0,
            };
            *errors.entry(code).or_default() += 1;
            instants.extend(entry.ended);
        }
        let first_error = instants.into_iter().filter(|at| *at >= fault).min();
        Self {
            last_success_s: gap.map(|(last, _)| after(last)),
            first_error_s: first_error.map(after),
            detected_s: after(detected),
            promoted_s: after(promoted),
            first_success_s: gap.map(|(_, first)| after(first)),
            errors,
            logins_failed,
        }
    }

    /// How long no write succeeded.
    pub fn outage_s(&self) -> Option<f64> {
        self.first_success_s.zip(self.last_success_s).map(|(first, last)| first - last)
    }
}

/// The longest time without an acknowledgement that does not end before the fault: its begin and its end.
fn longest_gap(ledger: &Ledger, fault: Nanos) -> Option<(Nanos, Nanos)> {
    let mut instants: Vec<Nanos> = ledger.acknowledged().map(|(_, at)| at).collect();
    instants.sort_unstable();
    let pairs = instants.windows(2).filter(|pair| pair[1] >= fault);
    pairs.max_by_key(|pair| pair[1] - pair[0]).map(|pair| (pair[0], pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, Write};

    fn ledger(writes: &[(u64, Fate)]) -> Ledger {
        let entry = |(ms, fate): &(u64, Fate)| {
            let at = Nanos::from_millis(*ms);
            Entry { arrival: at, sent: at, ended: Some(at), fate: *fate }
        };
        let entries = writes
            .iter()
            .enumerate()
            .map(|(number, write)| (Write { writer: 0, number: number as u64 + 1 }, entry(write)));
        let down = vec![(Nanos::from_millis(1_200), "refused".to_owned())];
        Ledger { id: "a".into(), entries: entries.collect(), down }
    }

    #[test]
    fn the_outage_is_the_longest_time_without_an_acknowledgement_after_the_fault() {
        let (good, bad) = (Fate::Acknowledged, Fate::Refused(1290));
        let writes = [
            (0, good),
            (900, good),
            (1_010, good),
            (1_100, Fate::Unknown),
            (1_500, bad),
            (3_010, good),
            (3_020, good),
        ];
        let instants = [1_000, 1_400, 2_000].map(Nanos::from_millis);
        let found = Timeline::of(&ledger(&writes), instants);
        assert_eq!(found.last_success_s, Some(0.01));
        assert_eq!(found.first_success_s, Some(2.01));
        assert_eq!(found.outage_s(), Some(2.0));
        assert_eq!(found.first_error_s, Some(0.1));
        assert_eq!((found.detected_s, found.promoted_s), (0.4, 1.0));
        assert_eq!(found.errors, BTreeMap::from([(0, 1), (1290, 1)]));
        assert_eq!(found.logins_failed, 1);
    }

    #[test]
    fn where_nothing_succeeds_again_there_is_no_end() {
        let found = Timeline::of(
            &ledger(&[(0, Fate::Acknowledged), (500, Fate::Acknowledged)]),
            [Nanos::from_millis(1_000); 3],
        );
        assert_eq!((found.last_success_s, found.first_success_s, found.outage_s()), (None, None, None));
    }
}
