//! The one place in this crate that reads a clock.
#![allow(clippy::disallowed_methods)]

use evenkeel_core::Nanos;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Counts from an origin on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the origin.
    pub fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

/// Seconds since 1970, for names and manifests only, never for measuring.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
