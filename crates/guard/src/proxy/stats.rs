//! Counts of what passed, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct Stats {
    pub accepted: Count,
    pub closed: Count,
    pub logins: Count,
    /// Logins at a server that offers TLS, which the guard does not offer to clients.
    pub without_tls: Count,
    pub refused: Count,
    pub malformed: Count,
    pub unreachable: Count,
    pub commands: Count,
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

#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
