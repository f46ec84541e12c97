//! Arrival processes: the scheduled instants of an open load, and the pauses of a closed one.
//!
//! No process adds rounding error up: an instant is as exact after an hour as in the first second.

mod closed;
mod constant;
mod exact_sum;
mod poisson;
mod rate;

pub use closed::{Pause, TPCW_SESSION_LENGTH, TPCW_THINK_TIME};
pub use constant::Constant;
pub use poisson::Poisson;
pub use rate::{RATE_MAX, RateError, check_rate};

use crate::time::Nanos;

/// The scheduled instants of an open load, counted from the start of the phase, never falling.
pub trait Arrivals: Send {
    fn next_arrival(&mut self) -> Option<Nanos>;
}
