//! A deterministic simulation of guarded sessions, which runs the code that runs in production: sessions, links, gate
//! and policy, over a virtual network and a virtual clock, between model clients and a model server.
//!
//! The network delays, splits, cuts and resets; clients pipeline, stall, lie and die; the server has accounts,
//! locks and errors, is replaced, and vanishes. One seed is one history, step by step, so that what was found once is
//! found again. What must never happen is judged after every step ([`Violation`]).

pub mod bytes;
mod client;
mod door;
mod ending;
pub mod harness;
mod ledger;
mod locks;
mod panics;
mod pipe;
mod script;
mod server;
mod witness;
mod world;

use evenkeel_core::random::{Random, Seed};
use std::fmt;
use world::World;

/// Steps of one history before everybody leaves and all must come to rest.
const STEPS: u64 = 20_000;

/// What must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Seed of the history.
    pub seed: u64,
    /// After how many steps of it.
    pub step: u64,
    /// What was violated.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, step {}: {}", self.seed, self.step, self.what)
    }
}

/// Plays one history to its end: its steps.
///
/// # Errors
/// The first thing that must never happen.
pub fn play(seed: u64) -> Result<u64, Violation> {
    history(seed, &mut world(seed))
}

/// Plays one history and tells it: what happened, and how it ended.
pub fn tell(seed: u64) -> (Vec<String>, Result<u64, Violation>) {
    let mut world = world(seed);
    world.story = Some(Vec::new());
    let ended = history(seed, &mut world);
    (world.story.unwrap_or_default(), ended)
}

fn world(seed: u64) -> World {
    World::new(Random::new(Seed(seed).child("sessions")))
}

fn history(seed: u64, world: &mut World) -> Result<u64, Violation> {
    let mut step = 0;
    let mut failed = |step: &mut u64| -> Result<(), String> {
        while *step < STEPS {
            *step += 1;
            world.step()?;
        }
        world.come_to_rest(step)
    };
    // A panic is one of the things that must not happen.
    let what = match panics::caught(|| failed(&mut step)) {
        Ok(Ok(())) => return Ok(step),
        Ok(Err(what)) => what,
        Err(panic) => panic.words(),
    };
    Err(Violation { seed, step, what })
}

#[cfg(test)]
mod permits;
#[cfg(test)]
mod tests;
