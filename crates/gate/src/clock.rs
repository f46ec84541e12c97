//! The one place in this crate that reads a clock.
#![allow(clippy::disallowed_methods)]

use evenkeel_core::Nanos;
use std::time::Instant;

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
