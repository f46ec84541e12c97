//! Arrival processes: the scheduled instants of an open load.

use crate::time::Nanos;

/// The scheduled instants of an open load, counted from the start of the phase, never falling.
pub trait Arrivals: Send {
    /// The next instant, or `None` after the last.
    fn next_arrival(&mut self) -> Option<Nanos>;
}
