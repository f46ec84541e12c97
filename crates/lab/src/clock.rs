//! The one place in this crate that reads a clock.
#![allow(clippy::disallowed_methods)]

use evenkeel_core::Nanos;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use evenkeel_sense::clock::Clock;

/// Seconds since 1970, for names and manifests only, never for measuring.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Time on `CLOCK_MONOTONIC`, which all processes of a host share: what the hot path of the load reads.
pub fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// CPU time that the calling thread has used.
pub fn thread_cpu() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this function; both clocks exist since Linux 2.6.12.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
