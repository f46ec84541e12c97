//! What is known of other limits, and for how long it counts.
//!
//! A limit that was tried or left is not tried again before its time; each time it proves worse again, the time
//! doubles, so that a server on which nothing changes is hardly disturbed. A change of the server opens all.

use super::grid::Offset;

/// How much longer a verdict on a far limit counts than one on a near limit.
const FAR: f64 = 4.0;
/// How long a verdict of far worse counts at least, in seconds, by the distance (ln): such probes cost most.
const FAR_WORSE_S: [(f64, f64); 2] = [(2.0, 60.0), (0.4, 10.0)];
/// Distance (ln) that is far away for a change that is no collapse.
const AWAY: f64 = 1.0;
/// Shortest, in units of the test's own length.
const GAP_MIN: f64 = 8.0;
/// Limits remembered at most.
const MOST: usize = 32;

/// A verdict on a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    limit: u32,
    due: f64,
    gap: f64,
    prior: Option<Prior>,
    far_worse: bool,
}

/// What a test said of a limit against another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The other.
    pub kept: u32,
    /// ln of throughput over the other's.
    pub gain: f64,
    /// Its variance.
    pub variance: f64,
}

/// Verdicts on limits other than the one in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known(Vec<Verdict>);

impl Known {
    /// The verdict that counts for an offset's limit.
    fn of(&self, limit: u32, close: f64) -> Option<&Verdict> {
        let apart = |verdict: &&Verdict| (f64::from(verdict.limit) / f64::from(limit)).ln().abs();
        self.0.iter().filter(|verdict| apart(verdict) <= close).min_by(|a, b| apart(a).total_cmp(&apart(b)))
    }

    /// It is not better: not again before its time.
    pub fn refuse(&mut self, limit: u32, kept: u32, now: f64, took_s: f64, patience_s: f64) {
        let before = self.0.iter().position(|verdict| verdict.limit == limit);
        let gap = before.map_or(0.0, |place| self.0.swap_remove(place).gap);
        let far = (f64::from(limit) / f64::from(kept)).ln().abs() > 0.4;
        let most = if far { FAR * patience_s } else { patience_s };
        let gap = (2.0 * gap).max(GAP_MIN * took_s).min(most);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Verdict { limit, due: now + gap, gap, prior: None, far_worse: false });
    }

    /// It is in use now.
    pub fn forget(&mut self, limit: u32) {
        self.0.retain(|verdict| verdict.limit != limit);
    }

    /// What the test that refused it said.
    pub fn remember(&mut self, limit: u32, far_worse: bool, prior: Prior) {
        if let Some(verdict) = self.0.iter_mut().find(|verdict| verdict.limit == limit) {
            verdict.prior = Some(prior);
            verdict.far_worse = far_worse;
            let apart = (f64::from(limit) / f64::from(prior.kept)).ln().abs();
            let least =
                FAR_WORSE_S.iter().find(|(from, _)| apart > *from).map_or(0.0, |(_, seconds)| *seconds);
            if far_worse && verdict.gap < least {
                verdict.due += least - verdict.gap;
                verdict.gap = least;
            }
        }
    }

    /// What is remembered of a limit against this other.
    pub fn prior(&self, limit: u32, kept: u32) -> Option<Prior> {
        self.0.iter().find(|verdict| verdict.limit == limit)?.prior.filter(|prior| prior.kept == kept)
    }

    /// Whether nothing is known of this limit.
    pub fn is_new(&self, limit: u32) -> bool {
        self.of(limit, Offset::Half.close()).is_none()
    }

    /// Everything is open again but what was far worse and is far away, which costs most to look at.
    pub fn reopen(&mut self, kept: u32) {
        let away = |limit: u32| (f64::from(limit) / f64::from(kept)).ln().abs() > AWAY;
        self.0.retain(|verdict| verdict.far_worse && away(verdict.limit));
    }

    /// Everything is open again.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The offset to try now: one whose limit is not known, else the one longest overdue. Whether it is new comes with it.
    pub fn next(&self, limit: u32, range: (u32, u32), now: f64, cold: bool) -> Option<(Offset, u32, bool)> {
        let first = (cold && limit >= 48).then_some(Offset::Sixteenth);
        let open = first.into_iter().chain(Offset::ALL).filter_map(|offset| {
            let to = offset.from(limit, range.1)?;
            (to >= range.0 && !self.is_shielded(limit, to)).then_some((offset, to))
        });
        let mut best: Option<(f64, Offset, u32)> = None;
        for (offset, to) in open {
            match self.of(to, offset.close()) {
                None => return Some((offset, to, true)),
                Some(verdict) if verdict.due <= now && best.is_none_or(|best| verdict.due < best.0) => {
                    best = Some((verdict.due, offset, to));
                }
                Some(_) => {}
            }
        }
        best.map(|(_, offset, to)| (offset, to, false))
    }

    /// Whether a limit between the two is far worse: beyond a cliff nobody looks for a better place.
    fn is_shielded(&self, limit: u32, to: u32) -> bool {
        self.0.iter().any(|verdict| verdict.far_worse && limit < verdict.limit && verdict.limit < to)
    }

    /// Seconds until the next is due.
    pub fn next_s(&self, now: f64) -> f64 {
        self.0.iter().map(|verdict| (verdict.due - now).max(0.0)).fold(f64::MAX, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_comes_first_and_what_was_refused_comes_later_each_time() {
        let mut known = Known::default();
        assert_eq!(known.next(2, (1, 100), 0.0, false), Some((Offset::Double, 4, true)));
        known.refuse(4, 2, 0.0, 1.0, 30.0);
        known.refuse(3, 2, 0.0, 1.0, 30.0);
        known.refuse(1, 2, 0.0, 1.0, 30.0);
        assert_eq!(known.next(2, (1, 100), 7.9, false), None);
        assert!(known.next(2, (1, 100), 8.0, false).is_some());
        known.refuse(4, 2, 8.0, 1.0, 30.0);
        known.refuse(3, 2, 8.0, 1.0, 30.0);
        known.refuse(1, 2, 8.0, 1.0, 30.0);
        assert_eq!(known.next(2, (1, 100), 23.9, false), None);
        known.clear();
        assert!(known.next(2, (1, 100), 23.9, false).is_some());
    }

    #[test]
    fn nobody_looks_beyond_a_cliff_until_its_edge_was_looked_at_again() {
        let mut known = Known::default();
        let gain = Prior { kept: 100, gain: -1.0, variance: 0.01 };
        known.refuse(133, 100, 0.0, 1.0, 30.0);
        known.remember(133, true, gain);
        for now in [0.0, 1_000.0] {
            let mut offered = known.clone();
            while let Some((_, to, _)) = offered.next(100, (1, 1_000), now, false) {
                assert!(to <= 133, "{to} is beyond");
                offered.refuse(to, 100, now, 1.0, 30.0);
                offered.remember(to, true, gain);
            }
        }
        // A change that is no collapse keeps what is far worse and far away, and opens the rest.
        known.refuse(6, 100, 0.0, 1.0, 30.0);
        known.remember(6, true, gain);
        known.reopen(100);
        assert!(known.is_new(133) && !known.is_new(6));
    }
}
