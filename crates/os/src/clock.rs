//! This is the one place that reads clocks. They count whole nanoseconds, which need no normalising as `Instant`s do: they are read
//! several times a request.
#![allow(clippy::disallowed_methods)]

use evenkeel_core::Nanos;
#[cfg(any(test, feature = "by-hand"))]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970, for names and manifests only, never for measuring.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Time on `CLOCK_MONOTONIC`, which all processes of a machine share.
#[inline]
pub fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

pub fn thread_cpu() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of this process with all its threads, also ended ones, until this very instant.
pub fn process_cpu() -> Nanos {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Time since 1970, to be held against instants that the kernel notes by that clock.
pub(super) fn of_day() -> Nanos {
    read(libc::CLOCK_REALTIME)
}

#[inline]
fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this function; all clocks asked for exist since Linux 2.6.12.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Counts from an origin on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Nanos,
    #[cfg(any(test, feature = "by-hand"))]
    by_hand: Option<&'static AtomicU64>,
}

impl Clock {
    pub fn start() -> Self {
        Self {
            origin: monotonic(),
            #[cfg(any(test, feature = "by-hand"))]
            by_hand: None,
        }
    }

    #[inline]
    pub fn now(&self) -> Nanos {
        #[cfg(any(test, feature = "by-hand"))]
        if let Some(time) = self.by_hand {
            return Nanos(time.load(Ordering::SeqCst));
        }
        monotonic() - self.origin
    }

    /// A clock that stands still, however slow a machine is, until a test moves it.
    #[cfg(any(test, feature = "by-hand"))]
    pub fn by_hand() -> Self {
        Self { by_hand: Some(Box::leak(Box::default())), ..Self::start() }
    }

    /// Moves a clock that stands still.
    #[cfg(any(test, feature = "by-hand"))]
    pub fn set(&self, now: Nanos) {
        self.by_hand.expect("it stands still").store(now.0, Ordering::SeqCst);
    }
}
