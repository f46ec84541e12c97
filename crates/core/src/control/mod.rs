//! How many transactions to let run: controllers, the plants they are tried on, and a virtual clock.
//!
//! Sampling, enforcement and algorithm are three things in three places: the gate enforces a limit and counts,
//! [`Sample`] is what it tells, and a [`Controller`] answers with a [`Decision`] that explains itself. `plant` is the
//! server as a curve of throughput over transactions in flight, with the random distribution that controllers are
//! judged on; `simulation` steps a controller against plants.

mod decision;
pub mod evenkeel;
mod fixed;
pub mod plant;
mod sample;
pub mod simulation;
pub mod trial;

pub use decision::{Controller, Decision, Evidence, Hint, Reason};
pub use evenkeel::Evenkeel;
pub use fixed::Fixed;
pub use sample::{Response, Sample, Signals};
