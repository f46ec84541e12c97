//! How many transactions to let run: what controllers are told, the plants they are tried on, and a virtual clock.
//!
//! `plant` is the server as a curve of throughput over transactions in flight, with the random distribution that
//! controllers are judged on.

pub mod plant;
mod sample;

pub use sample::{Response, Sample, Signals};
