//! Points of the published controller: clients are there until its limit has come to rest, and only then is it measured.
//!
//! The measured clients come before those that waited go, so that the controller is never without load: for half a second at most
//! there are twice as many, of which the guard lets no more run than before. Where the server has no connections for twice as
//! many, they come when the others have gone.
//!
//! The published controller moves by one a second and looks at means over a span of 60 s: a limit has settled when it has not moved for one
//! such span. After ten of them it has not settled, and the point says so.

use super::parts::CLIENTS_MAX;
use super::point::{Bench, Front, Seen};
use super::record::Settle;
use crate::published::{PublishedError, Result, Tick};
use evenkeel_core::Nanos;
use evenkeel_lab::load::{self, LoadPlan, LoadResult};
use evenkeel_os::Stop;
use std::time::Duration;

/// The guard is asked for its ticks this often.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The load before outlives the longest wait by this.
const SPARE_S: f64 = 60.0;

/// A point, and what the limit did before it.
pub struct Settled {
    pub settling: Settling,
    /// When the measured load began, in seconds of the guard's clock.
    pub began_s: f64,
    pub load: LoadResult,
    pub seen: Option<Seen>,
}

impl Bench<'_> {
    /// Measures a load behind a guard whose limit has settled, or has not after the longest wait; `None` where somebody
    /// asked to stop.
    pub fn settled(&self, front: &mut Front, plan: &LoadPlan, settle: Settle) -> Result<Option<Settled>> {
        let measure = Nanos::from_secs_f64(settle.most_s + SPARE_S);
        let (warm_up, drain, seed) = (Nanos::ZERO, Nanos::ZERO, plan.seed.child("before"));
        let before = LoadPlan { warm_up, measure, drain, seed, ..plan.clone() };
        let enough = Stop::default();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| load::run(&before, &enough, &mut |_| {}));
            let found = self.wait_and_measure(front, plan, settle, &enough, &|| first.is_finished());
            enough.set();
            let first =
                first.join().map_err(|_| PublishedError::wrong("the load before a point ended badly"))?;
            // What ended the first load early is the reason for whatever came after.
            first?;
            found
        })
    }

    fn wait_and_measure(
        &self,
        front: &mut Front,
        plan: &LoadPlan,
        settle: Settle,
        enough: &Stop,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Settled>> {
        let Some(settling) = self.rest(front, settle, is_over)? else { return Ok(None) };
        if 2 * plan.sessions.max() > CLIENTS_MAX {
            enough.set();
            while !is_over() {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        let mut began_s = Ok(0.0);
        let (load, seen) = self.observed(plan, front.guard_process(), |elapsed| {
            enough.set();
            let now_s = |ticks: Vec<Tick>| ticks.last().map_or(0.0, |tick| tick.sample.end.as_secs_f64());
            began_s = front.ticks().map(|ticks| now_s(ticks) - elapsed.as_secs_f64());
        })?;
        Ok(Some(Settled { settling, began_s: began_s?, load, seen }))
    }

    /// Waits until the limit has settled or will not.
    fn rest(
        &self,
        front: &mut Front,
        settle: Settle,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Settling>> {
        let mut watch = Watch::new(settle);
        let mut is_busy = false;
        while !self.workplace.stop.is_set() {
            for tick in front.ticks()? {
                is_busy |= tick.sample.completions > 0;
                let at_s = tick.sample.end.as_secs_f64();
                if let Some(settling) = is_busy.then(|| watch.look(at_s, tick.decided)).flatten() {
                    return Ok(Some(settling));
                }
            }
            if is_over() {
                let what = "the load before a point ended before its limit had settled";
                return Err(PublishedError::wrong(what));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(None)
    }
}

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
