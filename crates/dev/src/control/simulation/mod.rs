//! A controller with clients and a plant on a virtual clock.
//!
//! Clients, permits and the server are a Markov process: with `n` in flight the next completion comes after an
//! exponential time of rate `X(n)`. While all permits are taken and clients do not pause, completions of a tick are
//! one Poisson draw; while a lowered limit drains, or clients pause, every event is drawn. The controller sees samples as
//! the guard would give them, and its limit holds from the next tick on.

mod server;

use evenkeel_core::Nanos;
pub use server::{Scenario, simulate};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    pub at: Nanos,
    /// Number of closed clients, each of which has at most one transaction at a time.
    pub clients: u32,
    /// Mean pause of a client between transactions, exponential; 0 for none.
    pub think_s: f64,
    /// How many of the clients keep a transaction open through the phase: each takes a permit and no work of the server.
    pub slow: u32,
    /// Whether the server stands still.
    pub paused: bool,
    pub plant: usize,
}

impl Phase {
    /// Clients that never pause, on the first plant, from the start.
    pub fn of(clients: u32) -> Self {
        Self { at: Nanos::ZERO, clients, think_s: 0.0, slow: 0, paused: false, plant: 0 }
    }
}

/// Phases in ascending order of their start.
#[derive(Clone, Debug, PartialEq)]
pub struct Load(Vec<Phase>);

impl Load {
    /// These phases, which may come in any order. The first one also holds before it begins.
    pub fn new(mut phases: Vec<Phase>) -> Self {
        phases.sort_by_key(|phase| phase.at);
        Self(phases)
    }

    pub fn constant(clients: u32) -> Self {
        Self(vec![Phase::of(clients)])
    }

    /// The phase of an instant; nobody asks for anything where there are no phases.
    pub fn at(&self, at: Nanos) -> Phase {
        let begun = self.0.partition_point(|phase| phase.at <= at);
        self.0.get(begun.saturating_sub(1)).copied().unwrap_or(Phase::of(0))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::{Curve, Plant};
    use evenkeel_core::control::{Controller, Decision, Fixed, Reason, Sample};
    use evenkeel_core::random::Seed;

    fn plant() -> Plant {
        Plant::new(Curve::Usl { sigma: 0.0, kappa: 1.0 / 64.0 }, 1_000.0)
    }

    fn scenario(load: Load, initial_limit: u32) -> Scenario {
        Scenario {
            plants: vec![plant()],
            load,
            tick: Nanos::from_millis(50),
            duration: Nanos::from_secs(100),
            initial_limit,
            seed: Seed(1),
        }
    }

    fn completions(trace: &Trace) -> u64 {
        trace.steps.iter().map(|step| step.completions).sum()
    }

    #[test]
    fn a_full_limit_gives_the_throughput_of_the_curve_with_poisson_spread() {
        let trace = simulate(&scenario(Load::constant(100), 8), &mut Fixed::new(8));
        // 100,000 expected, standard deviation 316.
        assert!(completions(&trace).abs_diff(100_000) < 1_300, "{}", completions(&trace));
        let mean = completions(&trace) as f64 / trace.steps.len() as f64;
        let variance = trace.steps.iter().map(|step| (step.completions as f64 - mean).powi(2)).sum::<f64>()
            / trace.steps.len() as f64;
        assert!((variance / mean - 1.0).abs() < 0.12, "index of dispersion {}", variance / mean);
        assert!(trace.regret(Nanos::ZERO, Nanos::from_secs(100)).abs() < 1e-9);
    }

    #[test]
    fn a_lowered_limit_drains_as_transactions_end() {
        struct Lower;
        impl Controller for Lower {
            fn name(&self) -> &'static str {
                "lower"
            }
            fn update(&mut self, _: &Sample) -> Decision {
                Decision { limit: 8, why: Reason::Fixed }
            }
        }
        let trace = simulate(&scenario(Load::constant(200), 200), &mut Lower);
        // The time to drain is the sum of 1 / X(n) from 200 down to 9: 1.3 s here.
        let expected: f64 = (9..=200).map(|n| 1.0 / plant().throughput(f64::from(n), 0.0)).sum();
        let drained = trace.steps.iter().find(|step| step.in_flight <= 8.0).unwrap();
        let took = drained.start.as_secs_f64();
        assert!((took - expected).abs() < 0.35, "{took} s, expected {expected} s");
    }

    #[test]
    fn a_paused_server_completes_nothing_and_a_slow_client_takes_a_permit() {
        let pause = Phase { at: Nanos::from_secs(50), paused: true, ..Phase::of(100) };
        let trace = simulate(&scenario(Load::new(vec![Phase::of(100), pause]), 8), &mut Fixed::new(8));
        assert!(trace.steps[1_000..].iter().all(|step| step.completions == 0 && step.in_flight == 8.0));
        let slow = Phase { slow: 4, ..Phase::of(100) };
        let trace = simulate(&scenario(Load::new(vec![slow]), 8), &mut Fixed::new(8));
        assert!((trace.steps[9].true_per_s - plant().throughput(4.0, 0.0)).abs() < 1e-6);
    }
}
