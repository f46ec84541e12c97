//! What tests and benches need and no user does: servers, arrays and sessions that are simulated, so that the truth is known, and a
//! peer's controller to compare ours with.
//!
//! - [`plant`], [`control`]: the guard's controllers on a virtual clock;
//! - [`sessions`]: histories of guarded sessions, which run the code of the guard;
//! - [`randomness`]: whether arrivals are as random as they claim to be;
//! - [`mixes`]: random arrays and hosts for the laws of `share`;
//! - [`simulation`], [`profile`]: queues and servers as a study measures them;
//! - [`volatile`]: a disk that forgets what was not flushed when it loses power.
//!
//! The binary `evenkeel-dev` prints all of it as JSON, and probes of a domain.
#![forbid(unsafe_code)]

pub mod control;
pub mod mixes;
pub mod plant;
#[cfg(feature = "program")]
pub mod profile;
pub mod randomness;
pub mod sessions;
pub mod simulation;
#[cfg(feature = "program")]
pub mod volatile;
