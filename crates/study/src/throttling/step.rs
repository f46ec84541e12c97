//! A step: few clients, and from one instant on many. Two loads at a time, whose intervals are added second by second.

use super::point::{Bench, during, mean};
use super::record::{StepPlan, Treatment};
use crate::harness::{Run, Series};
use crate::published::{PublishedError, Result, Tick, begun};
use evenkeel_core::Nanos;
use evenkeel_lab::load::{LoadError, LoadPlan, LoadResult};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::time::Duration;

/// A load, and when it started on the common clock.
type Started = (LoadResult, Nanos);

impl Bench<'_> {
    /// Watches a step; `None` where somebody asked to stop.
    pub fn step(&self, way: Treatment, repeat: u32, plan: &StepPlan) -> Result<Option<Run>> {
        let front = self.front(way)?;
        let seed = self.seed.child("step load").numbered(u64::from(repeat));
        let whole = (0.0, plan.before_s + plan.after_s);
        let few = self.load(&front.target, plan.clients.0, seed, whole)?;
        let more = plan.clients.1.saturating_sub(plan.clients.0);
        let more = (more > 0)
            .then(|| self.load(&front.target, more, seed.child("more"), (0.0, plan.after_s)))
            .transpose()?;
        let loads = self.both(few, more, plan.before_s)?;
        let ticks = front.end()?;
        let run = Run { series: seconds(plan, &loads, &ticks), ..Run::default() };
        Ok(Some(run).filter(|_| !self.workplace.stop.is_set()))
    }

    fn both(&self, few: LoadPlan, more: Option<LoadPlan>, before_s: f64) -> Result<Vec<Started>> {
        let (clock, stop) = (Clock::start(), self.workplace.stop);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| timed(&few, stop, &clock));
            let until = Nanos::from_secs_f64(before_s);
            while clock.now() < until && !stop.is_set() && !first.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
            }
            let second = more.filter(|_| !stop.is_set()).map(|more| timed(&more, stop, &clock));
            let first =
                first.join().map_err(|_| PublishedError::wrong("the load of few clients ended badly"))?;
            let all = [Some(first), second].into_iter().flatten();
            Ok(all.collect::<Result<Vec<Started>, LoadError>>()?)
        })
    }
}

fn timed(plan: &LoadPlan, stop: &Stop, clock: &Clock) -> Result<Started, LoadError> {
    let mut start = Nanos::ZERO;
    let result = begun(plan, stop, |elapsed| start = clock.now() - elapsed)?;
    Ok((result, start))
}

/// Second by second: what both loads completed and the limit, with the step where it was planned.
fn seconds(plan: &StepPlan, loads: &[Started], ticks: &[Tick]) -> Series {
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
    let step_at_s = loads.get(1).map_or(plan.before_s, |(_, start)| (*start - origin).as_secs_f64());
    let row = |(at, completed): (usize, u64)| {
        let limit = mean(&during(ticks, at as f64, at as f64 + 1.0), |tick| f64::from(tick.decided));
        (at as f64 + 1.0 - step_at_s + plan.before_s, vec![Some(completed as f64), limit])
    };
    Series {
        columns: ["throughput_per_s", "limit"].map(str::to_owned).to_vec(),
        rows: completed.into_iter().enumerate().map(row).collect(),
    }
}
