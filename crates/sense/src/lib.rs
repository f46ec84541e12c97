//! The machine and the server are read here: CPU, pressure, counters, I/O, server status. Nothing is changed.
//!
//! Every source is read as text, parsed by a pure function into a *reading* (what had been counted at
//! one instant), and two readings make a *use* (what happened between them). What a kernel, a missing
//! privilege or a dead process does not say is `None`, "not available", never zero. Nothing here needs
//! root, pressure stall information, control groups or performance counters; each is used where it is.
#![forbid(unsafe_code)]

pub mod counters;
pub mod cpu;
pub mod disk;
pub mod far;
pub mod kernel_log;
pub mod machine;
pub mod memory;
pub mod mounts;
pub mod neighbours;
pub mod pages;
pub mod pressure;
pub mod sampler;
pub mod status;
pub mod throttle;
pub mod waits;

mod error;
#[cfg(test)]
mod garbage;
#[cfg(test)]
#[path = "../../../tests/left_out.rs"]
mod left_out;
mod text;

pub use cpu::{Cgroup, CpuOf, CpuReading, CpuSet, CpuUse};
pub use error::SenseError;
pub use machine::Machine;
pub use sampler::{Sampler, Schedule, SensePlan, SenseRecord, SenseSample};
