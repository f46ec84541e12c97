//! How many transactions to let run.
//!
//! Sampling, enforcement and algorithm are three things in three places: the guard's gate enforces a limit and counts, a
//! [`Sample`] has what it counted in a tick, and a [`Controller`] answers with a [`Decision`] that explains itself.
//!
//! Controllers have a file each: [`fixed`], [`reflection`], as published, and [`evenkeel`], ours and the default;
//! [`ControllerSettings`] select one by name, within [`Bounds`]. They are tried and judged on a virtual clock in `dev`.

pub mod algorithm;
mod bounds;
mod decision;
pub mod evenkeel;
pub mod fixed;
pub mod reflection;
mod sample;

pub use algorithm::{Algorithm, ControllerSettings};
pub use bounds::Bounds;
pub use decision::{Controller, Decision, Evidence, Hint, Reason};
pub use evenkeel::Evenkeel;
pub use fixed::Fixed;
pub use reflection::Reflection;
pub use sample::{Response, Sample, Signals};
