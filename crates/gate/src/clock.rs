//! The one place in this crate that reads a clock.
#![allow(clippy::disallowed_methods)]

use evenkeel_core::Nanos;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Counts from an origin on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    #[cfg(test)]
    by_hand: Option<&'static AtomicU64>,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
            #[cfg(test)]
            by_hand: None,
        }
    }

    /// Time since the origin.
    pub fn now(&self) -> Nanos {
        #[cfg(test)]
        if let Some(time) = self.by_hand {
            return Nanos(time.load(Ordering::SeqCst));
        }
        self.origin.elapsed().into()
    }

    /// A clock that stands still, however slow a machine is, until a test moves it.
    #[cfg(test)]
    pub fn by_hand() -> Self {
        Self { by_hand: Some(Box::leak(Box::default())), ..Self::start() }
    }

    /// Moves a clock that stands still.
    #[cfg(test)]
    pub fn set(&self, now: Nanos) {
        self.by_hand.expect("it stands still").store(now.0, Ordering::SeqCst);
    }
}
