//! Who calls, and how often.

use evenkeel_core::distribution::WeightedChoice;
use evenkeel_core::random::{Random, Seed};

/// Calls of a caller in a day, about.
const CALLS: u64 = 25;
/// Callers at most: a number and a weight each are kept in memory.
const MOST: u64 = 1_000_000;

pub(super) struct Callers {
    weighted: Option<WeightedChoice>,
    count: u64,
}

impl Callers {
    /// As many as so many calls need. A caller's calls are double Pareto lognormal: exp(N(nu, tau^2) + E1/alpha - E2/beta) with
    /// exponential E1 and E2 (Seshadri et al., KDD 2008); nu = ln 2, tau = 1, alpha = 2.5, beta = 1.5 are guesses.
    pub fn new(calls: u64, seed: Seed) -> Self {
        let count = (calls / CALLS).clamp(100, MOST);
        let mut random = Random::new(seed);
        let mut weight = || {
            let body = 2.0_f64.ln() + random.normal();
            (body + random.exponential(1.0 / 2.5) - random.exponential(1.0 / 1.5)).exp()
        };
        let weights: Vec<f64> = (0..count).map(|_| weight()).collect();
        Self { weighted: WeightedChoice::new(&weights).ok(), count }
    }

    pub fn caller(&self, random: &mut Random) -> u64 {
        match &self.weighted {
            Some(weighted) => weighted.draw(random) as u64,
            None => random.uniform(0, self.count - 1),
        }
    }

    /// Number of somebody who is called: anybody.
    pub fn called(&self, random: &mut Random) -> u64 {
        random.uniform(0, 4 * self.count)
    }
}
