//! A step: few clients, and from one instant on many. Two loads at a time, whose intervals are added second by second.

use super::point::{Bench, during};
use crate::clock::Clock;
use crate::guard::journal::Recorded;
use crate::throttling::record::{FORMAT, StepFile, StepPlan, StepSecond, Way};
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_lab::load::{self, LoadError, LoadPhase, LoadPlan, LoadResult};
use evenkeel_os::stop::Stop;
use std::time::Duration;

/// A load, and when it started on the common clock.
type Started = (LoadResult, Nanos);

impl Bench<'_> {
    /// Watches a step; `None` where somebody asked to stop.
    ///
    /// # Errors
    /// Guard, load or server fail.
    pub fn step(&self, way: Way, repeat: u32, plan: &StepPlan) -> Result<Option<StepFile>> {
        let front = self.front(way)?;
        let seed = Seed(self.plan.seed).child("step load").numbered(u64::from(repeat));
        let whole = (0.0, plan.before_s + plan.after_s);
        let few = self.load(&front.target, plan.clients.0, seed, whole)?;
        let more = plan.clients.1.saturating_sub(plan.clients.0);
        let more = (more > 0)
            .then(|| self.load(&front.target, more, seed.child("more"), (0.0, plan.after_s)))
            .transpose()?;
        let loads = self.both(few, more, plan.before_s)?;
        let ticks = front.end()?;
        if self.stop.is_set() {
            return Ok(None);
        }
        Ok(Some(seconds(way, repeat, plan, &loads, &ticks)))
    }

    fn both(&self, few: LoadPlan, more: Option<LoadPlan>, before_s: f64) -> Result<Vec<Started>> {
        let clock = Clock::start();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| timed(&few, &self.stop, &clock));
            let until = Nanos::from_secs_f64(before_s);
            while clock.now() < until && !self.stop.is_set() && !first.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
            }
            let second = more.filter(|_| !self.stop.is_set()).map(|more| timed(&more, &self.stop, &clock));
            let first = first.join().map_err(|_| anyhow!("the load of few clients ended badly"))?;
            let all = [Some(first), second].into_iter().flatten();
            Ok(all.collect::<Result<Vec<Started>, LoadError>>()?)
        })
    }
}

fn timed(plan: &LoadPlan, stop: &Stop, clock: &Clock) -> Result<Started, LoadError> {
    let mut start = None;
    let result = load::run(plan, stop, &mut |progress| {
        if start.is_none() && progress.phase != LoadPhase::Opening {
            start = Some(clock.now() - progress.elapsed);
        }
    })?;
    Ok((result, start.unwrap_or_default()))
}

/// Seconds from the start of the first load.
fn seconds(way: Way, repeat: u32, plan: &StepPlan, loads: &[Started], ticks: &[Recorded]) -> StepFile {
    let origin = loads.first().map_or(Nanos::ZERO, |(_, start)| *start);
    let length = (plan.before_s + plan.after_s).floor() as usize;
    let mut completed = vec![0_u64; length];
    for (load, start) in loads {
        for interval in &load.intervals {
            let middle = (*start - origin) + interval.start + Nanos(load.interval_length.0 / 2);
            if let Some(second) = completed.get_mut(middle.as_secs_f64() as usize) {
                *second += interval.completed;
            }
        }
    }
    let second = |(at, completed): (usize, u64)| StepSecond {
        at_s: at as f64 + 1.0,
        throughput_per_s: completed as f64,
        limit: mean_limit(&during(ticks, at as f64, at as f64 + 1.0)),
    };
    StepFile {
        format: FORMAT,
        way,
        repeat,
        step_at_s: loads.get(1).map_or(plan.before_s, |(_, start)| (*start - origin).as_secs_f64()),
        seconds: completed.into_iter().enumerate().map(second).collect(),
    }
}

fn mean_limit(ticks: &[&Recorded]) -> Option<f64> {
    let sum: f64 = ticks.iter().map(|tick| f64::from(tick.decided)).sum();
    (!ticks.is_empty()).then(|| sum / ticks.len() as f64)
}
