//! Rounds over the depths.

use super::client::{Client, Kind, Step, Times};
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::knee::Point;
use evenkeel_os::stop::Stop;
use evenkeel_share::Handle;

#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    /// I/Os outstanding, in rising order.
    pub depths: Vec<u32>,
    pub rounds: u32,
    pub measure: Nanos,
    pub block: u64,
    pub seed: Seed,
}

impl SweepPlan {
    /// Reads that are not counted, at the beginning of a step: a quarter more.
    fn settle(&self) -> Nanos {
        Nanos(self.measure.0 / 4)
    }

    /// How long all of it takes at least, in seconds.
    fn seconds(&self) -> f64 {
        self.steps() as f64 * (self.measure + self.settle()).as_secs_f64()
    }

    fn steps(&self) -> usize {
        self.depths.len() * self.rounds as usize
    }

    /// Places of the depths in a round: up, then down, so that storage that gets slower or faster with time does not bend
    /// the curve.
    fn order(&self, round: u32) -> Vec<usize> {
        let up = 0..self.depths.len();
        if round.is_multiple_of(2) { up.collect() } else { up.rev().collect() }
    }
}

#[derive(Clone, Debug)]
pub struct Sweep {
    /// Rounds in the order in which they were made; each by depth.
    pub rounds: Vec<Vec<Step>>,
    /// Latencies of all rounds, by depth.
    pub latencies: Vec<Histogram>,
}

impl Sweep {
    pub fn points(&self) -> Vec<Vec<Point>> {
        self.rounds.iter().map(|round| round.iter().map(|step| step.point).collect()).collect()
    }
}

/// Measures the first disk of an engine, which has so many bytes; reports what it does before each step, and how many seconds
/// are left. `None` where it was stopped.
///
/// # Errors
/// A read failed.
pub fn sweep(
    (engine, bytes): (Handle, u64),
    plan: &SweepPlan,
    stop: &Stop,
    tell: &mut dyn FnMut(String, f64),
) -> Result<Option<Sweep>> {
    let kind = Kind { bytes: u32::try_from(plan.block)?, write: false };
    let client = Client::new(engine, kind, bytes, Random::new(plan.seed.child("places")));
    let times = Times { settle: plan.settle(), measure: plan.measure };
    let mut latencies = vec![Histogram::default(); plan.depths.len()];
    let (mut rounds, mut done) = (Vec::new(), 0);
    for round in 0..plan.rounds {
        let mut steps = vec![None; plan.depths.len()];
        for place in plan.order(round) {
            let depth = plan.depths[place];
            let left = plan.seconds() * (1.0 - f64::from(done) / plan.steps() as f64);
            tell(format!("round {} of {}: {depth} outstanding", round + 1, plan.rounds), left);
            match client.step(depth, times, &mut latencies[place], stop)? {
                Some(step) => steps[place] = Some(step),
                None => return Ok(None),
            }
            done += 1;
        }
        rounds.push(steps.into_iter().flatten().collect());
    }
    Ok(Some(Sweep { rounds, latencies }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_up_and_down_by_turns() {
        let plan = SweepPlan {
            depths: vec![1, 2, 4],
            rounds: 3,
            measure: Nanos::from_secs(1),
            block: 16_384,
            seed: Seed(1),
        };
        let orders: Vec<_> = (0..3).map(|round| plan.order(round)).collect();
        assert_eq!(orders, [[0, 1, 2], [2, 1, 0], [0, 1, 2]]);
        assert_eq!(plan.seconds(), 11.25);
    }
}
