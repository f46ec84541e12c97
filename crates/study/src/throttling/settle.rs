//! Points of the published controller: clients are there until its limit has come to rest, and only then is it measured.
//!
//! The measured clients come before those that waited go, so that the controller is never without load: for half a second at most
//! there are twice as many, of which the guard lets no more run than before. Where the server has no connections for twice as
//! many, they come when the others have gone.

use super::observe::Seen;
use super::parts::CLIENTS_MAX;
use super::point::{Bench, Front};
use super::record::Settle;
use super::settling::{Settling, Watch};
use crate::published::{PublishedError, Result, Tick};
use evenkeel_core::Nanos;
use evenkeel_lab::load::{self, LoadPlan, LoadResult};
use evenkeel_os::stop::Stop;
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
