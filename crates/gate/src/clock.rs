//! Time since a start. Read twice a request: in whole nanoseconds, which need no normalising as `Instant`s do.

use crate::sys::monotonic;
use evenkeel_core::Nanos;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts from an origin on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
    #[cfg(test)]
    by_hand: Option<&'static AtomicU64>,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self {
            origin: monotonic(),
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
        Nanos(monotonic() - self.origin)
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
