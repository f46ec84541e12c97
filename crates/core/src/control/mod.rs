//! How many transactions to let run: controllers, the plants they are tried on, and a virtual clock.
//!
//! Sampling, enforcement and algorithm are three things in three places: the guard's gate enforces a limit and counts, a
//! [`Sample`] has what it counted in a tick, and a [`Controller`] answers with a [`Decision`] that explains itself.
//!
//! - controllers, one file each: [`fixed`], [`reflection`], as published, and [`evenkeel`], ours and the default;
//!   [`ControllerSettings`] select one by name, within [`Bounds`]; [`aimd`] is a peer to compare ours with;
//! - [`plant`]: the server as a curve of throughput over transactions in flight, with the random distribution that
//!   controllers are judged on;
//! - [`simulation`]: a controller against plants on a virtual clock; [`trial`]: how controllers are judged; [`search`]:
//!   parameters for the peer.

pub mod aimd;
pub mod algorithm;
mod bounds;
mod decision;
pub mod evenkeel;
pub mod fixed;
mod interval;
pub mod plant;
pub mod reflection;
mod sample;
pub mod search;
pub mod simulation;
pub mod steps;
pub mod trial;

pub use aimd::Aimd;
pub use algorithm::{Algorithm, ControllerSettings};
pub use bounds::Bounds;
pub use decision::{Controller, Decision, Evidence, Hint, Reason};
pub use evenkeel::Evenkeel;
pub use fixed::Fixed;
pub use reflection::Reflection;
pub use sample::{Response, Sample, Signals};
