//! Simulated servers, whose true figures are known.

mod cell;
pub mod coverage;
mod queue;

pub use cell::VirtualCell;
pub use queue::{FifoQueue, Served, Service};
