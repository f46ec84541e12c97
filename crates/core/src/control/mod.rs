//! How many transactions to let run: a [`Sample`] has what the guard's gate counted in a tick, and a [`Controller`] answers
//! with a [`Decision`] that explains itself.
//!
//! [`reflection`] is a published one, [`evenkeel`] ours and the default; [`ControllerSettings`] select one by name, within
//! [`Bounds`]. They are tried and judged on a virtual clock in `dev`.

pub mod algorithm;
mod baseline;
mod decision;
pub mod evenkeel;
pub mod reflection;
mod supervised;

pub use algorithm::{Algorithm, ControllerSettings, Fixed};
pub use baseline::{Baseline, Fault, Sensor, values};
pub use decision::{Controller, Decision, Evidence, Hint, Reason, Response, Sample, Signals};
pub use evenkeel::Evenkeel;
pub use reflection::{Bounds, Reflection};
pub use supervised::{SupervisedController, Verdict};
