//! Simulated servers, whose true figures are known.

mod cell;
pub mod components;
pub mod coverage;
mod neighbour;
mod server;

pub use cell::{Served, VirtualCell, mm1};
pub use neighbour::{Phases, Shared, Try, TryPlan};
pub use server::{VirtualRun, VirtualServer};

#[cfg(test)]
mod tests;
