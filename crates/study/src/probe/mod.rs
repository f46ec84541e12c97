//! What a place gives, before any database uses it: disk, network, CPU, caches, flushes, and the memory that the place itself takes.
//!
//! `place` is where a probe runs: the machine, or the domain of a running private server. `disk` asks fio, `network` iperf3; `machine`
//! is our own code, which runs inside the domain as a process of this program. Each function measures once; who wants
//! an interval calls it again. `None` means that somebody asked to stop.

pub mod disk;
pub mod machine;
pub mod memory;
pub mod network;
pub(crate) mod place;

pub use place::Place;
pub(crate) use place::Started;
