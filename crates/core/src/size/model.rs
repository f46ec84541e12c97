use super::fit::Fit;
use super::station::wait;
use crate::random::{Random, Seed};

/// The same profile always gives the same answer.
const SEED: Seed = Seed(0x51_2e);
/// Steps of the random walk, those of its beginning that are forgotten, and every how many one is kept.
const STEPS: (usize, usize, usize) = (16_000, 3_000, 13);
/// Shares of a prior's deviation by which the walk steps.
const REACHES: [f64; 4] = [1.0, 0.4, 0.15, 0.05];
/// Factor on the wait, what runs differ by in speed, and what the model errs by: median and deviation of the logarithm, before anything is measured.
const PRIORS: [(f64, f64); 3] = [(0.5, 1.2), (0.04, 1.0), (0.06, 0.8)];
/// How sharply a bound of the capacity ends, as a deviation of the logarithm.
const SOFT: f64 = 0.05;
/// How far the capacity lies below and above where the CPUs are full: another resource may end first, and work may fall as load rises.
const BY_CPU: (f64, f64) = (0.5, 0.15);
/// The capacity is at most so many times the highest rate, where nothing else bounds it.
const END_MOST: f64 = 30.0;
/// What a server's speed differs by at least between a study and a later run: deviation of the logarithm. Runs a few minutes apart on a virtual
/// machine differ by about that beyond what the runs of one study do (ten of `bench/answer`).
const DRIFT: f64 = 0.08;
/// Most that a response changes with the speed of a run.
const ELASTICITY_MOST: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Mean,
    P95,
}

impl Figure {
    /// How much more it varies by chance than the mean: of exponential times twice as much.
    fn chance(self) -> f64 {
        match self {
            Self::Mean => 1.0,
            Self::P95 => 2.0,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub rate: f64,
    pub seconds: f64,
    /// Response time of each run in seconds: a mean, or a percentile.
    pub responses: Vec<f64>,
}

impl Measured {
    pub(super) fn is_something(&self) -> bool {
        let is_some = |value: &f64| *value > 0.0 && value.is_finite();
        is_some(&self.rate)
            && is_some(&self.seconds)
            && !self.responses.is_empty()
            && self.responses.iter().all(is_some)
    }

    /// Mean of the logarithms.
    pub(super) fn level(&self) -> f64 {
        self.responses.iter().map(|response| response.ln()).sum::<f64>() / self.responses.len() as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    pub cpus: f64,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    /// The rate at which its CPUs are full, by the CPU time of a request.
    pub full_at: Option<f64>,
    /// What its speed was seen to differ by between runs, a deviation of the logarithm; zero where that is not known.
    pub drift: f64,
}

impl Ends {
    /// Log prior of a capacity, the highest rate that settled being known.
    fn prior(&self, capacity: f64, highest: f64) -> f64 {
        let beyond = |off: f64, by: f64| -0.5 * (off.max(0.0) / by).powi(2);
        let below = self.at_least.map_or(0.0, |least| beyond((least / capacity).ln(), SOFT));
        let above = beyond((capacity / self.at_most.unwrap_or(END_MOST * highest)).ln(), SOFT);
        let off = self.full_at.map_or(0.0, |full| (capacity / full).ln());
        below + above + beyond(-off, BY_CPU.0) + beyond(off, BY_CPU.1)
    }
}

/// One set of parameters that the runs allow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawn {
    /// Capacity, factor of the wait, what runs differ by, what the model errs by.
    at: [f64; 4],
    cpus: f64,
    drift: f64,
}

impl Drawn {
    /// Logarithm of how much longer than without load a response takes; infinite beyond the capacity.
    fn rise(&self, rate: f64) -> f64 {
        let [capacity, factor, ..] = self.at;
        (factor * wait(rate, capacity, self.cpus) * capacity / self.cpus.max(1.0)).ln_1p()
    }

    /// Variance of the logarithm between runs of so many seconds: by their speed, and by chance as of M/M/1, whose mean backlog has the
    /// asymptotic variance `2 (1 + u) / (u (1 - u)^2 C)` of its square for each second (Whitt, Management Science 35 (1989) 1341).
    fn between(&self, rate: f64, seconds: f64, figure: Figure) -> f64 {
        let [capacity, _, speed, _] = self.at;
        let used = (rate / capacity).min(0.999);
        let chance = 2.0 * (1.0 + used) / (used * (1.0 - used).powi(2) * capacity * seconds);
        (speed * self.elasticity(rate)).powi(2) + figure.chance() * chance
    }

    /// By how much of itself a response changes with the speed.
    fn elasticity(&self, rate: f64) -> f64 {
        let elasticity = 1.0 + (self.rise(rate * 1.001) - self.rise(rate)) / 0.001;
        if elasticity.is_finite() { elasticity.min(ELASTICITY_MOST) } else { ELASTICITY_MOST }
    }

    /// Mean and variance of the logarithm of the response that a later run gives; `None` where the server does not carry the rate.
    pub(super) fn run(&self, fit: &Fit, rate: f64, seconds: f64, figure: Figure) -> Option<(f64, f64)> {
        let (mean, error) = fit.at(self.at[3], rate);
        let later = (self.drift * self.elasticity(rate)).powi(2);
        let mean = mean + self.rise(rate);
        mean.is_finite().then_some((mean, error + self.between(rate, seconds, figure) + later))
    }

    /// The level and the errors of the model that these parameters leave to the points; `None` where a point is beyond the capacity.
    pub(super) fn fit(&self, points: &[Measured], figure: Figure) -> Option<Fit> {
        let off = points.iter().map(|point| point.level() - self.rise(point.rate));
        let noise = points
            .iter()
            .map(|point| self.between(point.rate, point.seconds, figure) / point.responses.len() as f64);
        Fit::of(points.iter().map(|point| point.rate).collect(), off.collect(), noise.collect(), self.at[3])
    }

    /// Log posterior.
    fn judge(&self, points: &[Measured], ends: &Ends, figure: Figure) -> f64 {
        let mut found = ends.prior(self.at[0], points.last().map_or(0.0, |point| point.rate));
        for (value, (median, by)) in self.at[1..].iter().zip(PRIORS) {
            found -= 0.5 * ((value / median).ln() / by).powi(2);
        }
        for point in points {
            let (level, between) = (point.level(), self.between(point.rate, point.seconds, figure));
            let apart: f64 = point.responses.iter().map(|one| (one.ln() - level).powi(2)).sum();
            found -= 0.5 * ((point.responses.len() as f64 - 1.0) * between.ln() + apart / between);
        }
        let found = self.fit(points, figure).map_or(f64::NEG_INFINITY, |fit| found + fit.likelihood);
        if found.is_finite() { found } else { f64::NEG_INFINITY }
    }
}

/// Draws from what the points, by rising rate, and the ends allow.
pub(super) fn draws(points: &[Measured], ends: &Ends, figure: Figure) -> Vec<Drawn> {
    let highest = points.last().map_or(1.0, |point| point.rate);
    let known = [ends.at_least, ends.full_at, ends.at_most].into_iter().flatten();
    let begin = known.fold(1.2 * highest, f64::max);
    let mut random = Random::new(SEED);
    let at = [begin, PRIORS[0].0, PRIORS[1].0, PRIORS[2].0];
    let mut here = Drawn { at, cpus: ends.cpus, drift: ends.drift.max(DRIFT) };
    let mut likely = here.judge(points, ends, figure);
    let mut kept = Vec::new();
    for step in 0..STEPS.0 {
        let mut next = here;
        let reach = REACHES[random.uniform(0, REACHES.len() as u64 - 1) as usize];
        let only = random.uniform(0, 7) as usize;
        for (place, value) in next.at.iter_mut().enumerate().filter(|(place, _)| only > 3 || only == *place) {
            let by = if place == 0 { BY_CPU.0 } else { PRIORS[place - 1].1 };
            *value *= (reach * by * random.normal()).exp();
        }
        let other = next.judge(points, ends, figure);
        if other - likely > random.unit().ln() {
            (here, likely) = (next, other);
        }
        if step >= STEPS.1 && step % STEPS.2 == 0 {
            kept.push(here);
        }
    }
    kept
}
