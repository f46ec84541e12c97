//! Simulated servers, whose true figures are known.

mod cell;
pub mod components;
pub mod coverage;
mod neighbour;
mod queue;
mod server;
mod tries;

pub use cell::VirtualCell;
pub use neighbour::{Phases, Shared};
pub use queue::{Served, mm1};
pub use server::{VirtualRun, VirtualServer};
pub use tries::{Try, TryPlan};

#[cfg(test)]
mod tests;
