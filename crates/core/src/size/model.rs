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
pub enum Statistic {
    Mean,
    P95,
}

impl Statistic {
    pub fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P95 => "p95",
        }
    }

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
    fn between(&self, rate: f64, seconds: f64, figure: Statistic) -> f64 {
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
    pub(super) fn run(&self, fit: &Fit, rate: f64, seconds: f64, figure: Statistic) -> Option<(f64, f64)> {
        let (mean, error) = fit.at(self.at[3], rate);
        let later = (self.drift * self.elasticity(rate)).powi(2);
        let mean = mean + self.rise(rate);
        mean.is_finite().then_some((mean, error + self.between(rate, seconds, figure) + later))
    }

    /// The level and the errors of the model that these parameters leave to the points; `None` where a point is beyond the capacity.
    pub(super) fn fit(&self, points: &[Measured], figure: Statistic) -> Option<Fit> {
        let off = points.iter().map(|point| point.level() - self.rise(point.rate));
        let noise = points
            .iter()
            .map(|point| self.between(point.rate, point.seconds, figure) / point.responses.len() as f64);
        Fit::of(points.iter().map(|point| point.rate).collect(), off.collect(), noise.collect(), self.at[3])
    }

    /// Log posterior.
    fn judge(&self, points: &[Measured], ends: &Ends, figure: Statistic) -> f64 {
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
pub(super) fn draws(points: &[Measured], ends: &Ends, figure: Statistic) -> Vec<Drawn> {
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

/// More servers than these wait as little.
const SERVERS_MAX: f64 = 4_096.0;

/// Mean wait in seconds for one of `servers` that together serve `capacity` requests per second, with Poisson arrivals and
/// negative exponential service; infinite from the capacity on.
///
/// `W = C / (capacity - rate)` with Erlang's `C`, by way of his `B`: `B(i) = a B(i-1) / (i + a B(i-1))`, `C = B / (1 - u (1 - B))` for
/// `a = servers u` (Kleinrock, Queueing Systems, vol. 1, 1975, section 3.5).
fn wait(rate: f64, capacity: f64, servers: f64) -> f64 {
    let servers = if servers >= 1.0 { servers.round().min(SERVERS_MAX) } else { 1.0 };
    let utilisation = rate / capacity;
    if !(0.0..1.0).contains(&utilisation) {
        return f64::INFINITY;
    }
    let offered = servers * utilisation;
    let blocked = (1..=servers as u32).fold(1.0, |b, i| offered * b / (f64::from(i) + offered * b));
    let waits = blocked / (1.0 - utilisation * (1.0 - blocked));
    waits / (capacity - rate)
}

// What the model errs by: smoothly along the rates, so that it is known near a measured rate, and unknown far from all.
//
// The error of the logarithm is a Gaussian process over the logarithm of the rate, and the level a constant with a flat prior
// (Kennedy and O'Hagan, J. Royal Statistical Society B 63 (2001) 425; Rasmussen and Williams, Gaussian Processes for Machine Learning,
// 2006, section 2.7).

/// Logarithm of the factor between rates from which on they say little of one another's error.
const REACH: f64 = 0.7;

/// Level and errors, as the points have them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    rates: Vec<f64>,
    /// Lower triangle `L` of the covariance `L L'` of the points.
    root: Vec<Vec<f64>>,
    level: f64,
    /// `1' K^-1 1`, the inverse variance of the level.
    weight: f64,
    /// `L^-1 1`, and `L^-1` of what the points are off the level.
    ones: Vec<f64>,
    off: Vec<f64>,
    /// Logarithm of the likelihood of the points, but for a constant.
    pub(super) likelihood: f64,
}

impl Fit {
    /// Of what points are off a model without level, with the variance of each and the deviation of the error; `None` where one is no number.
    pub(super) fn of(rates: Vec<f64>, off: Vec<f64>, noise: Vec<f64>, error: f64) -> Option<Self> {
        let covariance = |i: usize, j: usize| {
            error.powi(2) * near(rates[i], rates[j]) + if i == j { noise[i] } else { 0.0 }
        };
        let root = cholesky(rates.len(), covariance)?;
        let ones = forward(&root, &vec![1.0; rates.len()]);
        let off = forward(&root, &off);
        let weight = dot(&ones, &ones);
        let level = dot(&ones, &off) / weight;
        let off: Vec<f64> = off.iter().zip(&ones).map(|(off, one)| off - level * one).collect();
        let size: f64 = root.iter().enumerate().map(|(i, row)| row[i].ln()).sum();
        let likelihood = -size - 0.5 * (weight.ln() + dot(&off, &off));
        likelihood.is_finite().then_some(Self { rates, root, level, weight, ones, off, likelihood })
    }

    /// Level with the error at a rate, and the variance of both.
    pub(super) fn at(&self, error: f64, rate: f64) -> (f64, f64) {
        let shared: Vec<f64> = self.rates.iter().map(|own| error.powi(2) * near(*own, rate)).collect();
        let shared = forward(&self.root, &shared);
        let unknown = 1.0 - dot(&self.ones, &shared);
        let variance = error.powi(2) - dot(&shared, &shared) + unknown.powi(2) / self.weight;
        (self.level + dot(&shared, &self.off), variance.max(0.0))
    }
}

/// Correlation of the errors at two rates: Matern of order 3/2.
fn near(one: f64, other: f64) -> f64 {
    let apart = 3.0_f64.sqrt() * (one / other).ln().abs() / REACH;
    (1.0 + apart) * (-apart).exp()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// `L` with `L L' = K`; `None` where `K` is not positive definite.
fn cholesky(n: usize, k: impl Fn(usize, usize) -> f64) -> Option<Vec<Vec<f64>>> {
    let mut root: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for j in 0..i {
            let rest = k(i, j) - dot(&row, &root[j][..j]);
            row.push(rest / root[j][j]);
        }
        let rest = k(i, i) - dot(&row, &row);
        (rest > 0.0).then(|| row.push(rest.sqrt()))?;
        root.push(row);
    }
    Some(root)
}

/// `L^-1 b`.
fn forward(root: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(b.len());
    for (row, b) in root.iter().zip(b) {
        let done = dot(&row[..found.len()], &found);
        found.push((b - done) / row[found.len()]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_servers_is_that_of_the_theory() {
        // M/M/1 at 0.8: u / (1 - u) services. M/M/2 at 0.8: u^2 / (1 - u^2) services of 2 / capacity.
        assert!((wait(80.0, 100.0, 1.0) - 0.04).abs() < 1e-12);
        assert!((wait(80.0, 100.0, 2.0) - 0.64 / 0.36 * 0.02).abs() < 1e-12);
        assert!(wait(80.0, 100.0, 64.0) < 0.005);
        assert_eq!((wait(100.0, 100.0, 1.0), wait(f64::NAN, 100.0, 1.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!(wait(0.0, 100.0, 4.0), 0.0);
    }

    #[test]
    fn an_error_is_known_at_a_point_half_known_between_two_and_unknown_far_away() {
        let fit = Fit::of(vec![100.0, 200.0], vec![0.0, 0.2], vec![1e-6; 2], 0.1).unwrap();
        let [at, between, far] = [200.0, 141.4, 1e6].map(|rate| fit.at(0.1, rate));
        assert!((at.0 - 0.2).abs() < 1e-3 && at.1 < 1e-4, "{at:?}");
        assert!((between.0 - 0.1).abs() < 1e-2 && between.1 < 0.01 && between.1 > at.1, "{between:?}");
        assert!((far.0 - 0.1).abs() < 1e-2 && far.1 > 0.01, "{far:?}");
    }

    #[test]
    fn a_point_that_is_no_number_fits_nothing() {
        assert!(Fit::of(vec![1.0, 2.0], vec![0.0, f64::NEG_INFINITY], vec![0.1; 2], 0.1).is_none());
    }
}
