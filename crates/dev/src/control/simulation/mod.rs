//! A controller with clients and a plant on a virtual clock.
//!
//! Clients, permits and the server are a Markov process: with `n` in flight the next completion comes after an
//! exponential time of rate `X(n)`. While all permits are taken and clients do not pause, completions of a tick are
//! one Poisson draw; while a lowered limit drains, or clients pause, every event is drawn. The controller sees samples as
//! the guard would give them, and its limit holds from the next tick on.

mod load;
mod server;
mod trace;

pub use load::{Load, Phase};
pub use trace::{Step, Trace};

use crate::plant::Plant;
use evenkeel_core::Nanos;
use evenkeel_core::control::Controller;
use evenkeel_core::random::Seed;
use server::Server;

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The servers; phases name them by index. A change of mix is a change of plant.
    pub plants: Vec<Plant>,
    pub load: Load,
    pub tick: Nanos,
    pub duration: Nanos,
    /// The limit in force during the first tick.
    pub initial_limit: u32,
    pub seed: Seed,
}

pub fn simulate(scenario: &Scenario, controller: &mut dyn Controller) -> Trace {
    let mut server = Server::new(scenario.seed);
    let mut limit = scenario.initial_limit.max(1);
    let mut steps = Vec::new();
    let mut start = Nanos::ZERO;
    while start < scenario.duration {
        let end = start + scenario.tick;
        let phase = scenario.load.at(start);
        let Some(plant) = scenario.plants.get(phase.plant) else { break };
        let (sample, step) = server.tick(plant, phase, limit, start, end);
        steps.push(step);
        limit = controller.update(&sample).limit.max(1);
        start = end;
    }
    Trace { steps }
}

#[cfg(test)]
mod tests;
