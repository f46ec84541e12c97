//! Which way of loading is the fastest here, measured: a sample is loaded by each in turn, in a database that is made for it and
//! dropped afterwards.
//!
//! Rounds are interleaved, so that what changes on the machine meanwhile meets all ways. [`scratch`] is the database, [`crash`]
//! cuts a load in the middle and looks at what that costs, [`verdict`] compares.

mod crash;
mod sample;
mod scratch;
mod trial;
mod verdict;

pub use crash::Crash;
pub use trial::{Advice, Measured, Plan, Way, advise};
pub use verdict::{Retention, Spread, retention};
