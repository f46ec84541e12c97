//! The lab: makes load and records it. It never judges while measuring.
//!
//! `target` is the server under test, `sandbox` a private one, `data` fills it, `workload` says what
//! is asked, `load` asks it at scheduled instants, `explain` reads plans, `study` walks cells and
//! repeats, `elsewhere` sees a server on another machine, `store` keeps what was measured.

pub mod clock;
pub mod csv;
pub mod data;
mod disk;
pub mod elsewhere;
pub mod explain;
pub mod load;
mod lock;
pub mod sandbox;
pub mod stop;
pub mod store;
pub mod study;
pub mod target;
pub mod workload;
