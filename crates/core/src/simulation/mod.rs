//! Simulated servers, whose true figures are known.

mod queue;

pub use queue::{FifoQueue, Served, Service};
