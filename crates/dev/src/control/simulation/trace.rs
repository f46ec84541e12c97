//! What happened in a simulation.

use evenkeel_core::Nanos;

/// A tick, with the true throughput, which no controller sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub start: Nanos,
    pub end: Nanos,
    pub limit: u32,
    pub in_flight: f64,
    /// Completions in the tick, as the controller is told of them.
    pub completions: u64,
    /// Mean throughput of the plant without noise, per second.
    pub true_per_s: f64,
    /// The most that the plant could do for these clients, per second.
    pub best_per_s: f64,
}

impl Step {
    /// True throughput as a share of the best; 1 where nothing can be done.
    pub fn share(&self) -> f64 {
        if self.best_per_s > 0.0 { self.true_per_s / self.best_per_s } else { 1.0 }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub steps: Vec<Step>,
}

impl Trace {
    /// Mean share of the best over stretches of `length`, weighted by what could be done; a part at the end is left
    /// out.
    pub fn shares(&self, length: Nanos) -> Vec<f64> {
        self.shares_from(Nanos::ZERO, length)
    }

    /// The same for a trace that begins at `from`.
    pub fn shares_from(&self, from: Nanos, length: Nanos) -> Vec<f64> {
        let mut shares = Vec::new();
        let (mut done, mut could, mut end) = (0.0, 0.0, from + length);
        for step in &self.steps {
            let seconds = (step.end - step.start).as_secs_f64();
            done += step.true_per_s * seconds;
            could += step.best_per_s * seconds;
            if step.end >= end {
                shares.push(if could > 0.0 { done / could } else { 1.0 });
                (done, could, end) = (0.0, 0.0, end + length);
            }
        }
        shares
    }

    /// Share of the transactions lost against the best, from `from` to `to`.
    pub fn regret(&self, from: Nanos, to: Nanos) -> f64 {
        let within = self.steps.iter().filter(|step| step.start >= from && step.end <= to);
        let (done, could) = within.fold((0.0, 0.0), |(done, could), step| {
            let seconds = (step.end - step.start).as_secs_f64();
            (done + step.true_per_s * seconds, could + step.best_per_s * seconds)
        });
        if could > 0.0 { 1.0 - done / could } else { 0.0 }
    }
}
