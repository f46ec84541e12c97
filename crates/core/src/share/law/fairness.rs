//! Whether the device is divided by shares at all. Storage that serves hosts in turn, or bounds each of them, gives a host no more
//! for a larger window. No law can divide it, and an operator who relies on shares has to know of it.

use super::super::Report;

/// A disk counts as held back if it wants at least so many times what it has outstanding.
const HELD_BACK: f64 = 1.2;
/// It must also want so many of its I/Os more. A client that waits for each I/O holds back itself, and a window of 6 has no room
/// for a second I/O of cost 4.
const MORE: f64 = 2.0;
/// A host is judged only if it has so many I/Os outstanding in the mean. A smaller window mostly pays debts, and its part of the
/// device follows from how long single I/Os take.
const LEAST: f64 = 1.0;
/// A disk that wants less than this in the mean is idle.
const IDLE: f64 = 0.05;
/// A host could have a larger window if it has at most this share of its largest window outstanding.
const FREE: f64 = 0.9;
/// Weight of the newest period, and the I/Os that it must have for that. With fewer, the part of the device is mostly chance.
const WEIGHT: (f64, f64) = (0.1, 40.0);
/// Periods after a start in which windows settle.
const SETTLE: u32 = 10;
/// Factor by which fewer I/Os are enough to take an accusation back.
const QUICKER: f64 = 10.0;
/// Factor between a part of the device and the part that is due from which on the storage is called unfair, and the factor below
/// which it no longer is.
const UNFAIR: (f64, f64) = (1.5, 1.25);

/// A host's part of the device against the one that is due to it, over the last ten periods or so, and at least 400 I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// The part over the part that is due, as a logarithm.
    ratio: f64,
    is_unfair: bool,
    periods: u32,
}

impl Fairness {
    /// Takes in a period of all hosts. One by which this host cannot be judged lets an unfairness fade.
    pub fn learn(&mut self, all: &[Report], own: usize) {
        if self.periods < SETTLE {
            self.periods += 1;
            return;
        }
        let seen = ratio(all, own).map_or(0.0, |ratio| ratio.clamp(0.1, 10.0).ln());
        let ios = all.get(own).map_or(0.0, |report| report.completions as f64);
        // Slow to accuse and quick to forget: after windows have settled, a few I/Os say enough.
        let enough = if seen.abs() < self.ratio.abs() { WEIGHT.1 / QUICKER } else { WEIGHT.1 };
        self.ratio += WEIGHT.0 * (ios / enough).min(1.0) * (seen - self.ratio);
        let bound = if self.is_unfair { UNFAIR.1 } else { UNFAIR.0 };
        self.is_unfair = self.ratio.abs() > bound.ln();
    }

    /// The part over the part that is due, where the two are far from each other and stay so.
    pub fn unfair(&self) -> Option<f64> {
        self.is_unfair.then(|| self.ratio.exp())
    }
}

/// Device time of a host over what its shares give it among the hosts that are held back; `None` where it is not one of
/// several.
fn ratio(all: &[Report], own: usize) -> Option<f64> {
    let held: Vec<(usize, f64, f64)> = all
        .iter()
        .enumerate()
        .filter_map(|(place, report)| Some((place, held_shares(report)?, report.rate)))
        .collect();
    let &(_, shares, rate) = held.iter().find(|(place, ..)| *place == own).filter(|_| held.len() > 1)?;
    let (all_shares, all_rates) = held.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
    let ratio = (rate / all_rates) / (shares / all_shares);
    ratio.is_finite().then_some(ratio)
}

/// Shares of the disks that want something, if all of them are held back.
fn held_shares(report: &Report) -> Option<f64> {
    let active = || report.disks.iter().filter(|disk| disk.wanted >= IDLE && disk.shares > 0.0);
    let shares: f64 = active().map(|disk| disk.shares).sum();
    let is_bounded = report.most > 0.0 && report.outstanding > FREE * report.most;
    // A host that has done nothing yet has I/Os of the usual size.
    let grain = if report.grain > 0.0 { report.grain } else { 1.0 };
    let is_held = |wanted: f64, has: f64| wanted > HELD_BACK * has && wanted > has + MORE * grain;
    let are_held = active().all(|disk| is_held(disk.wanted, report.outstanding * disk.shares / shares));
    let is_judged = !is_bounded && are_held && report.outstanding >= LEAST * grain;
    (shares > 0.0 && report.rate > 0.0 && is_judged).then_some(shares)
}

#[cfg(test)]
mod tests {
    use super::super::super::DiskUse;
    use super::*;

    fn report(shares: f64, wanted: f64, outstanding: f64, rate: f64) -> Report {
        Report {
            disks: vec![DiskUse { shares, wanted }],
            most: 64.0,
            outstanding,
            completions: 50,
            rate,
            ..Report::default()
        }
    }

    fn after(periods: usize, all: &[Report]) -> Vec<Option<f64>> {
        let learnt = |own| {
            let mut fairness = Fairness::default();
            (0..periods).for_each(|_| fairness.learn(all, own));
            fairness.unfair()
        };
        (0..all.len()).map(learnt).collect()
    }

    #[test]
    fn equal_parts_of_unequal_shares_are_found_after_some_periods_by_those_who_have_too_much_or_too_little() {
        let in_turn =
            [report(1.0, 64.0, 8.0, 100.0), report(2.0, 64.0, 16.0, 100.0), report(5.0, 64.0, 40.0, 100.0)];
        assert_eq!(after(12, &in_turn), [None; 3]);
        let told = after(60, &in_turn);
        assert!(
            told[0].is_some_and(|ratio| ratio > 2.0) && told[2].is_some_and(|ratio| ratio < 0.7),
            "{told:?}"
        );
        let by_shares = [1.0, 2.0, 5.0].map(|shares| report(shares, 64.0, 8.0 * shares, 95.0 * shares + 9.0));
        assert_eq!(after(60, &by_shares), [None; 3]);
    }

    #[test]
    fn who_wants_no_more_or_may_have_no_more_is_not_wronged() {
        let busy = report(1.0, 64.0, 8.0, 500.0);
        for other in [
            report(5.0, 8.0, 8.0, 100.0),
            report(5.0, 100.0, 64.0, 100.0),
            report(5.0, 0.0, 0.0, 0.0),
            report(5.0, 64.0, 8.0, 0.0),
        ] {
            assert_eq!(after(60, &[busy.clone(), other.clone()]), [None; 2], "{other:?}");
        }
        assert_eq!(after(60, std::slice::from_ref(&busy)), [None]);
        let few = Report { completions: 1, ..report(5.0, 64.0, 8.0, 100.0) };
        assert_eq!(after(20, &[busy, few])[1], None, "too few I/Os to know");
    }

    #[test]
    fn unfairness_that_has_ended_is_soon_over() {
        let mut fairness = Fairness::default();
        let (wrong, right) = (report(1.0, 64.0, 8.0, 100.0), report(3.0, 64.0, 8.0, 300.0));
        (0..60).for_each(|_| fairness.learn(&[wrong.clone(), Report { rate: 100.0, ..right.clone() }], 0));
        assert!(fairness.unfair().is_some());
        (0..60).for_each(|_| fairness.learn(&[wrong.clone(), right.clone()], 0));
        assert_eq!(fairness.unfair(), None);
    }
}
