//! Counts of what passed, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start; each is a sum that only grows.
#[derive(Debug, Default)]
pub struct Stats {
    /// Clients that were accepted.
    pub accepted: Count,
    /// Clients that are gone.
    pub closed: Count,
    /// Logins that the server accepted.
    pub logins: Count,
    /// Clients that the guard itself turned away, with the reason.
    pub refused: Count,
    /// Connections ended because of bytes that are not the protocol.
    pub malformed: Count,
    /// Connections to the server that failed.
    pub unreachable: Count,
    /// Commands that were sent on.
    pub commands: Count,
    /// Sessions that were reset because their client left in the middle.
    pub resets: Count,
    /// Clients that took longer for their login than they may.
    pub login_timeouts: Count,
    /// Clients beyond the most that may be connected at a time, which were turned away. They are not among `refused`.
    pub clients_refused: Count,
    /// Sessions that ended because of a defect of the guard itself, each alone.
    pub panics: Count,
    /// Times when another server took the place of the one before.
    pub failovers: Count,
}

/// A count that any thread may add to.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
