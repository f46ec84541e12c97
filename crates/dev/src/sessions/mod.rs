//! A deterministic simulation of guarded sessions, which runs the code that runs in production: sessions, links, gate
//! and policy, over a virtual network and a virtual clock, between model clients and a model server.
//!
//! The network delays, splits, cuts and resets; clients pipeline, stall and die; the server has locks and errors, is
//! replaced, and vanishes. One seed is one history, step by step, so that what was found once is found again. What must
//! never happen is judged after every step ([`Violation`]). Sides that break the protocol, and accounts that may not
//! come in, are played in [`bytes`].

pub mod bytes;
mod client;
mod door;
pub mod harness;
mod judge;
mod ledger;
mod locks;
mod pipe;
mod script;
mod server;
mod witness;
mod world;

use evenkeel_core::random::{Random, Seed};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
pub fn play(seed: u64) -> Result<u64, Violation> {
    let mut world = World::new(Random::new(Seed(seed).child("sessions")));
    let mut step = 0;
    let mut history = |step: &mut u64| -> Result<(), String> {
        while *step < STEPS {
            *step += 1;
            world.step()?;
        }
        world.come_to_rest(step)
    };
    match caught(|| history(&mut step)) {
        Ok(Ok(())) => Ok(step),
        Ok(Err(what)) | Err(what) => Err(Violation { seed, step, what }),
    }
}

/// Lets somebody act; a panic is a violation too. Where it was is printed as usual.
fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("a panic: {}", text.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests;
