//! How often the intervals of variance components hold the truth: virtual targets, populations, starts, runs and requests whose variances
//! are known, judged by the code that judges real ones.

use evenkeel_core::random::{Random, Seed};
use evenkeel_core::statistics::BATCHES;
use evenkeel_core::variance::{Components, Level, Observation, Position};
use std::ops::RangeInclusive;

const MEAN: f64 = 100.0;
/// How much of a request's deviation the next one has: a batch has some tens of requests, so that its neighbours feel it as well.
const MEMORY: f64 = 0.8;

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub name: &'static str,
    /// Numbers of units within a parent, of target, population, start and run, taken by turns: several numbers make an unequal design.
    pub numbers: [&'static [u32]; 4],
    /// Requests of a batch, of which a run has twenty.
    pub requests: RangeInclusive<u64>,
    /// Standard deviation of each level: target, population, start, run. That of requests makes a run's mean of 1,000 of them vary by
    /// the last.
    pub deviations: [f64; 5],
}

/// The usual designs: few starts, nothing between starts, all levels, unequal numbers, requests alone.
pub fn scenarios() -> Vec<Scenario> {
    let scenario = |name, numbers, requests, deviations| Scenario { name, numbers, requests, deviations };
    vec![
        scenario("3 starts of 3 runs", [&[1], &[1], &[3], &[3]], 30..=70, [0.0, 0.0, 8.0, 3.0, 1.0]),
        scenario(
            "5 starts of 2 to 5 runs",
            [&[1], &[1], &[5], &[2, 5, 3]],
            20..=80,
            [0.0, 0.0, 4.0, 4.0, 2.0],
        ),
        scenario("4 starts that do not differ", [&[1], &[1], &[4], &[4]], 30..=70, [0.0, 0.0, 0.0, 4.0, 2.0]),
        scenario("20 runs of a start", [&[1], &[1], &[1], &[20]], 30..=70, [0.0, 0.0, 0.0, 3.0, 3.0]),
        scenario(
            "8 runs that differ by requests",
            [&[1], &[1], &[1], &[8]],
            40..=60,
            [0.0, 0.0, 0.0, 0.0, 3.0],
        ),
        scenario("3 targets, all levels", [&[3], &[2], &[2], &[3]], 30..=70, [5.0, 5.0, 5.0, 5.0, 2.0]),
        scenario(
            "4 targets, unequal",
            [&[4], &[1, 2, 3], &[2, 3], &[2, 4, 3]],
            20..=80,
            [6.0, 0.0, 4.0, 2.0, 2.0],
        ),
    ]
}

impl Scenario {
    pub fn truth(&self, level: Level) -> f64 {
        let square = self.deviations[level as usize].powi(2);
        if level == Level::Request { 1_000.0 * square } else { square }
    }

    pub fn play(&self, seed: Seed) -> Vec<Observation> {
        let mut found = Vec::new();
        let mut random = Random::new(seed);
        let mut turns = [0_usize; 4];
        self.repeat(&mut random, &mut turns, (0, MEAN), [0; 4], &mut found);
        found
    }

    fn repeat(
        &self,
        random: &mut Random,
        turns: &mut [usize; 4],
        (depth, mean): (usize, f64),
        mut place: [u32; 4],
        found: &mut Vec<Observation>,
    ) {
        let Some(numbers) = self.numbers.get(depth) else {
            found.push(self.run(random, mean, place));
            return;
        };
        let count = numbers[turns[depth] % numbers.len()];
        turns[depth] += 1;
        for number in 0..count {
            place[depth] = number;
            let own = mean + self.deviations[depth] * random.normal();
            self.repeat(random, turns, (depth + 1, own), place, found);
        }
    }

    fn run(&self, random: &mut Random, mean: f64, place: [u32; 4]) -> Observation {
        // The sum of many requests that each pass this share on has the variance of a step, divided by the square of the rest.
        let step = self.truth(Level::Request).sqrt() * (1.0 - MEMORY);
        let mut deviation = random.normal() * step / (1.0 - MEMORY * MEMORY).sqrt();
        let mut batch = || {
            let count = random.uniform(*self.requests.start(), *self.requests.end());
            let mut sum = 0.0;
            for _ in 0..count {
                deviation = MEMORY * deviation + step * random.normal();
                sum += mean + deviation;
            }
            (count as f64, sum)
        };
        let batches: Vec<(f64, f64)> = (0..BATCHES).map(|_| batch()).collect();
        let (count, sum) = batches.iter().fold((0.0, 0.0), |all, batch| (all.0 + batch.0, all.1 + batch.1));
        let [target, population, start, run] = place;
        Observation { place: Position { target, population, start, run }, mean: sum / count, batches }
    }

    /// Whether each interval of one try holds the truth; empty where the try says nothing.
    pub fn attempt(&self, seed: Seed) -> Vec<Held> {
        let Ok(found) = Components::of(&self.play(seed)) else { return Vec::new() };
        let judge = |one: &evenkeel_core::variance::Component| {
            let truth = self.truth(one.level);
            Held { level: one.level, below: one.high < truth, above: one.low > truth }
        };
        found.all.iter().map(judge).collect()
    }
}

/// One interval beside the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub level: Level,
    pub below: bool,
    pub above: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIES: u64 = 500;

    /// Of each scenario and level, how many tries held.
    fn held() -> Vec<(&'static str, Level, u64)> {
        let mut counts = Vec::new();
        for scenario in scenarios() {
            let tries: Vec<Vec<Held>> = (0..TRIES).map(|seed| scenario.attempt(Seed(seed))).collect();
            for (at, one) in tries[0].iter().enumerate() {
                let held = tries.iter().filter(|levels| !levels[at].below && !levels[at].above).count();
                counts.push((scenario.name, one.level, held as u64));
            }
        }
        counts
    }

    #[test]
    fn intervals_of_each_component_hold_the_truth_as_often_as_they_say() {
        let counts = held();
        assert_eq!(counts.len(), 3 + 3 + 3 + 2 + 2 + 5 + 5);
        let off: Vec<_> = counts.iter().filter(|(_, _, held)| !(445..=492).contains(held)).collect();
        assert!(off.is_empty(), "{off:?} of {counts:?}");
    }
}
