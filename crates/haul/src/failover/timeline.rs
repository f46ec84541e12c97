//! What the writers saw, from their ledger.

use crate::ledger::{Fate, Ledger};
use evenkeel_core::Nanos;
use serde::Serialize;

/// Instants in seconds after the fault, negative before it; in a failover of others after the last success before the outage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Acknowledged last before the longest time in which nothing was.
    pub last_success_s: Option<f64>,
    /// The first write that was refused or had no answer, or the first login that failed.
    pub first_error_s: Option<f64>,
    /// The fault was noticed.
    pub detected_s: Option<f64>,
    /// A replica took writes.
    pub promoted_s: Option<f64>,
    /// Acknowledged first after the longest time.
    pub first_success_s: Option<f64>,
}

pub(super) type Instants = (Nanos, Option<Nanos>, Option<Nanos>);

impl Timeline {
    /// Of a ledger, with the instants of fault, detection and promotion on its clock, as far as they are known.
    pub(super) fn of(ledger: &Ledger, (fault, detected, promoted): Instants) -> Self {
        let after = |at: Nanos| (at.0 as f64 - fault.0 as f64) / 1e9;
        let gap = ledger.longest_gap(fault..Nanos(u64::MAX));
        let mut instants: Vec<Nanos> = ledger.down.iter().map(|(at, _)| *at).collect();
        let failed = ledger.entries.values().filter(|entry| entry.fate != Fate::Acknowledged);
        instants.extend(failed.filter_map(|entry| entry.ended));
        let first_error = instants.into_iter().filter(|at| *at >= fault).min();
        Self {
            last_success_s: gap.map(|(last, _)| after(last)),
            first_error_s: first_error.map(after),
            detected_s: detected.map(after),
            promoted_s: promoted.map(after),
            first_success_s: gap.map(|(_, first)| after(first)),
        }
    }

    /// How long no write succeeded.
    pub fn outage_s(&self) -> Option<f64> {
        self.first_success_s.zip(self.last_success_s).map(|(first, last)| first - last)
    }
}

/// Acknowledged writes per second in each tenth of a second, from a second before the fault to the last write.
pub(super) fn pace(ledger: &Ledger, fault: Nanos) -> Vec<(f64, f64)> {
    const TENTH: u64 = 100_000_000;
    let from = fault - Nanos::from_secs(1);
    let mut counts = Vec::new();
    for (_, at) in ledger.acknowledged().filter(|(_, at)| *at >= from) {
        let place = ((at - from).0 / TENTH) as usize;
        if place >= counts.len() {
            counts.resize(place + 1, 0_u64);
        }
        counts[place] += 1;
    }
    let middle =
        |place: usize| (from.0 + TENTH * place as u64 + TENTH / 2) as f64 / 1e9 - fault.as_secs_f64();
    counts.into_iter().enumerate().map(|(place, count)| (middle(place), 10.0 * count as f64)).collect()
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
        let [fault, detected, promoted] = [1_000, 1_400, 2_000].map(Nanos::from_millis);
        let found = Timeline::of(&ledger(&writes), (fault, Some(detected), Some(promoted)));
        assert_eq!(found.last_success_s, Some(0.01));
        assert_eq!(found.first_success_s, Some(2.01));
        assert!(found.outage_s().is_some_and(|outage| (outage - 2.0).abs() < 1e-9));
        assert_eq!(found.first_error_s, Some(0.1));
        assert_eq!((found.detected_s, found.promoted_s), (Some(0.4), Some(1.0)));
    }

    #[test]
    fn where_nothing_succeeds_again_there_is_no_end() {
        let found = Timeline::of(
            &ledger(&[(0, Fate::Acknowledged), (500, Fate::Acknowledged)]),
            (Nanos::from_millis(1_000), None, None),
        );
        assert_eq!((found.last_success_s, found.first_success_s, found.outage_s()), (None, None, None));
    }
}
