//! Limits that a test refused or that were left, and when each of them may be tried again.
//!
//! Each time a limit proves worse again, the time until its next test doubles, so that a server on which nothing changes
//! is hardly disturbed. When the server itself changes, most refused limits are open for a test again at once.
//!
//! Distances between limits are taken as the absolute logarithm of their ratio: 0.4 is half as much again, 1 is e times.

use super::evidence::Tally;
use super::grid::Offset;
use crate::control::Hint;

/// A limit at more than this distance from the one in use counts as distant.
const DISTANT: f64 = 0.4;
/// The longest wait for a distant limit is longer than that for a near one by this factor.
const DISTANT_FACTOR: f64 = 4.0;
/// The shortest wait in seconds for a limit that was far worse, from each of these distances on: testing such a limit
/// costs the most throughput.
const FAR_WORSE_S: [(f64, f64); 2] = [(2.0, 60.0), (DISTANT, 10.0)];
/// When the server changes without a collapse, limits that were far worse stay refused beyond this distance.
const STAYS_REFUSED: f64 = 1.0;
/// The shortest wait before another test, in units of how long the test took.
const GAP_MIN: f64 = 8.0;
const MOST: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    limit: u32,
    due: f64,
    /// How long it had to wait for that, in seconds; doubles with the next refusal.
    gap: f64,
    /// What the test measured; `None` where there was no test that ended.
    prior: Option<Prior>,
    far_worse: bool,
}

/// What an earlier test measured of a limit against the one that was in use then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub in_use: u32,
    /// Throughput at the limit tried over that at the one in use, as a logarithm.
    pub gain: f64,
    pub variance: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RefusedLimits(Vec<Verdict>);

fn distance(one: u32, other: u32) -> f64 {
    (f64::from(one) / f64::from(other)).ln().abs()
}

impl RefusedLimits {
    /// The verdict that counts for a limit: the nearest one within a distance.
    fn verdict_on(&self, limit: u32, close: f64) -> Option<&Verdict> {
        let apart = |verdict: &&Verdict| distance(verdict.limit, limit);
        self.0.iter().filter(|verdict| apart(verdict) <= close).min_by(|a, b| apart(a).total_cmp(&apart(b)))
    }

    /// Refuses a limit that is not better than `in_use`. It may be tried again after a time that depends on how long the
    /// test took and on how often it was refused, and that is `patience_s` at most, or some times as much where it is distant.
    pub fn refuse(&mut self, limit: u32, in_use: u32, now: f64, took_s: f64, patience_s: f64) {
        let before = self.0.iter().position(|verdict| verdict.limit == limit);
        let gap = before.map_or(0.0, |place| self.0.swap_remove(place).gap);
        let is_distant = distance(limit, in_use) > DISTANT;
        let most = if is_distant { DISTANT_FACTOR * patience_s } else { patience_s };
        let gap = (2.0 * gap).max(GAP_MIN * took_s).min(most);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Verdict { limit, due: now + gap, gap, prior: None, far_worse: false });
    }

    pub fn forget(&mut self, limit: u32) {
        self.0.retain(|verdict| verdict.limit != limit);
    }

    /// Notes what the test that refused a limit measured, and makes it wait longer where the limit was far worse.
    pub fn remember(&mut self, limit: u32, far_worse: bool, prior: Prior) {
        if let Some(verdict) = self.0.iter_mut().find(|verdict| verdict.limit == limit) {
            verdict.prior = Some(prior);
            verdict.far_worse = far_worse;
            let apart = distance(limit, prior.in_use);
            let least =
                FAR_WORSE_S.iter().find(|(from, _)| apart > *from).map_or(0.0, |(_, seconds)| *seconds);
            if far_worse && verdict.gap < least {
                verdict.due += least - verdict.gap;
                verdict.gap = least;
            }
        }
    }

    /// What an earlier test measured of a limit, if it was held against the same limit as now.
    pub fn prior(&self, limit: u32, in_use: u32) -> Option<Prior> {
        self.0.iter().find(|verdict| verdict.limit == limit)?.prior.filter(|prior| prior.in_use == in_use)
    }

    /// Whether no limit so near that they would share a verdict has been refused.
    pub fn is_new(&self, limit: u32) -> bool {
        self.verdict_on(limit, Offset::Half.close()).is_none()
    }

    /// Opens all limits for a test again but those that were far worse and are far from `in_use`: these cost most to test,
    /// and only a collapse makes them worth it.
    pub fn recheck(&mut self, in_use: u32) {
        self.0.retain(|verdict| verdict.far_worse && distance(verdict.limit, in_use) > STAYS_REFUSED);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Where to probe now: first a limit without a verdict, then the one whose time came longest ago. Gives the offset, the
    /// limit that it leads to, and whether that had no verdict.
    pub fn next(&self, limit: u32, range: (u32, u32), now: f64, cold: bool) -> Option<(Offset, u32, bool)> {
        let first = (cold && limit >= 48).then_some(Offset::Sixteenth);
        let open = first.into_iter().chain(Offset::ALL).filter_map(|offset| {
            let to = offset.from(limit, range.1)?;
            (to >= range.0 && !self.is_shielded(limit, to)).then_some((offset, to))
        });
        let mut best: Option<(f64, Offset, u32)> = None;
        for (offset, to) in open {
            match self.verdict_on(to, offset.close()) {
                None => return Some((offset, to, true)),
                Some(verdict) if verdict.due <= now && best.is_none_or(|best| verdict.due < best.0) => {
                    best = Some((verdict.due, offset, to));
                }
                Some(_) => {}
            }
        }
        best.map(|(_, offset, to)| (offset, to, false))
    }

    /// Whether a limit between the two was far worse: behind such a cliff no better limit is looked for.
    fn is_shielded(&self, limit: u32, to: u32) -> bool {
        self.0.iter().any(|verdict| verdict.far_worse && limit < verdict.limit && verdict.limit < to)
    }

    pub fn next_s(&self, now: f64) -> f64 {
        self.0.iter().map(|verdict| (verdict.due - now).max(0.0)).fold(f64::MAX, f64::min)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub offset: Offset,
    pub to: u32,
    pub hint: Hint,
    pub began: f64,
    /// What was seen at the limit in use, lately before the test and in its halves.
    pub in_use: Tally,
    pub tried: Tally,
    /// What an earlier test of the same two limits measured.
    pub prior: Option<Prior>,
    /// Whether the limit tried is in force in this half, and not the one in use.
    pub trying: bool,
    pub half: Tally,
    pub halves: u32,
    /// Seconds in which the limit tried was not filled though the clients were there.
    pub unfilled_s: f64,
    /// Seconds since the clients went away; 0 while they are here.
    pub gone_s: f64,
}

impl Probe {
    /// The test as it goes on once there are clients again: with a half of the limit in use.
    pub fn suspended(self) -> Self {
        let halves = self.halves + u32::from(self.trying);
        Self { trying: false, half: Tally::default(), halves, ..self }
    }

    /// Mean length in seconds of the stretches that make up the tally of the limit in use and that of the limit tried. The
    /// first half is of the limit tried; what was seen at the limit in use before counts as a stretch of its own.
    pub fn stretches_s(&self) -> (f64, f64) {
        let (tried, in_use) = (self.halves.div_ceil(2), self.halves / 2 + 1);
        (self.in_use.seconds / f64::from(in_use), self.tried.seconds / f64::from(tried.max(1)))
    }
}

/// Seconds from a recheck that found nothing to the next one: the first such wait, which doubles each time, and the
/// longest.
const WAIT_S: (f64, f64) = (8.0, 60.0);
/// After so many seconds without a recheck the next wait is the first one again.
const CALM_S: f64 = 120.0;

/// The rechecks since a better limit was found: when refused limits are tested again because the server has changed.
///
/// A change of throughput or of strain may have moved the best limit, so that refused limits are rechecked at once. On a
/// machine with busy neighbours throughput changes all the time and the best limit stays: each recheck that found nothing
/// better makes the next one wait longer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recheck {
    vain: u32,
    at_s: f64,
    /// Whether a change was seen whose recheck had to wait.
    pending: bool,
}

impl Recheck {
    pub fn is_due(&self, now_s: f64) -> bool {
        let since_s = now_s - self.at_s;
        let wait_s = WAIT_S.0 * f64::from(1_u32 << self.vain.saturating_sub(1).min(8));
        self.vain == 0 || since_s >= wait_s.min(WAIT_S.1)
    }

    pub fn wait(&mut self) {
        self.pending = true;
    }

    /// Whether a noted change has waited long enough; then it waits no more.
    pub fn takes_pending(&mut self, now_s: f64) -> bool {
        let due = self.pending && self.is_due(now_s);
        self.pending &= !due;
        due
    }

    pub fn begin(&mut self, now_s: f64) {
        let calm = now_s - self.at_s > CALM_S;
        *self = Self { vain: if calm { 1 } else { self.vain + 1 }, at_s: now_s, pending: false };
    }

    pub fn found(&mut self) {
        self.vain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_comes_first_and_what_was_refused_comes_later_each_time() {
        let mut refused = RefusedLimits::default();
        assert_eq!(refused.next(2, (1, 100), 0.0, false), Some((Offset::Double, 4, true)));
        refused.refuse(4, 2, 0.0, 1.0, 30.0);
        refused.refuse(3, 2, 0.0, 1.0, 30.0);
        refused.refuse(1, 2, 0.0, 1.0, 30.0);
        assert_eq!(refused.next(2, (1, 100), 7.9, false), None);
        assert!(refused.next(2, (1, 100), 8.0, false).is_some());
        refused.refuse(4, 2, 8.0, 1.0, 30.0);
        refused.refuse(3, 2, 8.0, 1.0, 30.0);
        refused.refuse(1, 2, 8.0, 1.0, 30.0);
        assert_eq!(refused.next(2, (1, 100), 23.9, false), None);
        refused.clear();
        assert!(refused.next(2, (1, 100), 23.9, false).is_some());
    }

    #[test]
    fn no_limit_beyond_a_cliff_is_offered_before_its_edge_was_tested_again() {
        let mut refused = RefusedLimits::default();
        let gain = Prior { in_use: 100, gain: -1.0, variance: 0.01 };
        refused.refuse(133, 100, 0.0, 1.0, 30.0);
        refused.remember(133, true, gain);
        for now in [0.0, 1_000.0] {
            let mut offered = refused.clone();
            while let Some((_, to, _)) = offered.next(100, (1, 1_000), now, false) {
                assert!(to <= 133, "{to} is beyond the cliff");
                offered.refuse(to, 100, now, 1.0, 30.0);
                offered.remember(to, true, gain);
            }
        }
        // A change that is no collapse keeps what is far worse and far away, and opens the rest.
        refused.refuse(6, 100, 0.0, 1.0, 30.0);
        refused.remember(6, true, gain);
        refused.recheck(100);
        assert!(refused.is_new(133) && !refused.is_new(6));
    }

    #[test]
    fn rechecks_that_find_nothing_become_rare_and_one_that_does_makes_the_next_prompt() {
        let mut recheck = Recheck::default();
        let mut begun = Vec::new();
        for second in 0..200_u32 {
            if recheck.is_due(f64::from(second)) {
                recheck.begin(f64::from(second));
                begun.push(second);
            }
        }
        assert_eq!(begun, [0, 8, 24, 56, 116, 176]);
        recheck.found();
        assert!(recheck.is_due(200.0));
    }

    #[test]
    fn a_change_that_has_to_wait_is_not_forgotten() {
        let mut recheck = Recheck::default();
        recheck.begin(0.0);
        recheck.wait();
        assert!(!recheck.takes_pending(7.0));
        assert!(recheck.takes_pending(8.0));
        assert!(!recheck.takes_pending(9.0), "once");
    }
}
