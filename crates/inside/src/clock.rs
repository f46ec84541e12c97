//! The clock of the gate inside the server.

use evenkeel_core::Nanos;
use std::time::Instant;

/// Counts from its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

#[expect(clippy::disallowed_methods, reason = "this is the clock of the crate")]
impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn now(self) -> Nanos {
        Nanos(self.0.elapsed().as_nanos() as u64)
    }
}
