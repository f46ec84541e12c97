//! Whether a limit has come to rest before a point is measured.
//!
//! The published controller moves by one a second and looks at means over a span of 60 s: what it makes of a number of clients
//! shows only when it stands still. A limit has settled when it has not moved for one such span; after ten of them it has
//! not settled, and the point says so.

use super::record::Settle;

/// What a limit did before a point was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settling {
    /// Whether it had not moved for a span.
    pub settled: bool,
    /// How long that took, or was waited for, seconds.
    pub waited_s: f64,
    pub limit: u32,
}

/// A limit that is watched; time is an argument.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    plan: Settle,
    start_s: Option<f64>,
    stands: (u32, f64),
}

impl Watch {
    /// Before the first look.
    pub fn new(plan: Settle) -> Self {
        Self { plan, start_s: None, stands: (0, 0.0) }
    }

    /// The limit at an instant, in seconds of any clock; what came of it, as soon as that is known.
    pub fn look(&mut self, at_s: f64, limit: u32) -> Option<Settling> {
        let start_s = *self.start_s.get_or_insert(at_s);
        if limit != self.stands.0 {
            self.stands = (limit, at_s);
        }
        let waited_s = at_s - start_s;
        let settled = at_s - self.stands.1 >= self.plan.span_s - SLACK_S;
        let is_over = settled || waited_s >= self.plan.most_s - SLACK_S;
        is_over.then_some(Settling { settled, waited_s, limit })
    }
}

/// Sums of ticks are off by less than this.
const SLACK_S: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Settle = Settle { span_s: 60.0, most_s: 600.0 };

    /// What comes of a limit that is looked at every tenth of a second.
    fn watched(limit: impl Fn(f64) -> u32) -> Settling {
        let mut watch = Watch::new(PLAN);
        // The clock of a guard has run for some time when the clients come.
        let looks = (0..10_000).map(|tick| 0.1 * f64::from(tick));
        looks.filter_map(|at_s| watch.look(17.3 + at_s, limit(at_s))).next().expect("it ends")
    }

    #[test]
    fn a_limit_that_never_moves_has_settled_after_one_span() {
        let settling = watched(|_| 8);
        assert!(settling.settled && settling.limit == 8, "{settling:?}");
        assert!((settling.waited_s - 60.0).abs() < 1e-3, "{settling:?}");
    }

    #[test]
    fn the_span_counts_from_the_last_move() {
        // Down by one every 30 s to 3, which it reaches after 150 s.
        let settling = watched(|at_s| 8 - (at_s / 30.0).min(5.0) as u32);
        assert!(settling.settled && settling.limit == 3, "{settling:?}");
        assert!((settling.waited_s - 210.0).abs() < 0.2, "{settling:?}");
    }

    #[test]
    fn a_limit_that_moves_once_a_span_has_not_settled_after_ten_of_them() {
        // There and back within a second counts as a move, too.
        let settling = watched(|at_s| if at_s % 59.0 < 1.0 { 9 } else { 8 });
        assert!(!settling.settled, "{settling:?}");
        assert!((settling.waited_s - 600.0).abs() < 1e-3, "{settling:?}");
    }
}
