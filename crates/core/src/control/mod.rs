//! How many transactions to let run: a [`Sample`] has what the guard's gate counted in a tick, and a [`Controller`] answers
//! with a [`Decision`] that explains itself.
//!
//! [`reflection`] is a published one, [`evenkeel`] ours and the default; [`ControllerSettings`] select one by name, within
//! [`Bounds`]. They are tried and judged on a virtual clock in `dev`.

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
