//! Which arrival rates to measure.
//!
//! [`RateSearch`] finds the highest rate that a server carries, [`spread`] lays rates below and around it, and
//! a [`Sweep`] goes through the rates of a [`RatePlan`] until the server carries no more.

mod plan;
mod search;
mod spread;

pub use plan::{CellOutcome, RatePlan, RatePlanError, Sweep, SweepEnd};
pub use search::{GENTLE_START, PROBES_MAX, ProbeOutcome, RateSearch, Saturation, SearchFailure, SearchStep};
pub use spread::{RATES_MIN, spread};
