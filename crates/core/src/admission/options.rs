//! Options of the gate in a proxy.

use crate::Nanos;

/// What the operator chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Most sessions that may wait in a lane; without it nobody is refused for their number.
    pub queue_max: Option<usize>,
    /// Longest wait; without it nobody is refused for a long one.
    pub wait_max: Option<Nanos>,
    /// Most transactions that may stand aside.
    pub aside_max: usize,
    /// No transaction is long before this, whatever the median is.
    pub long_min: Nanos,
    /// Most sessions of a tenant that pass the queue because they hold named locks; never more than the short lane's limit, but
    /// for `named_min` ([`super::Keeper::named_max`]).
    pub named_max: usize,
    /// So many of them may pass however small the limit is, because they may wait for each other's locks.
    pub named_min: usize,
    /// Time without any end in a lane after which the liveness rule admits one more there.
    pub liveness_min: Nanos,
    /// Holds nothing back, and counts what it would have held back.
    pub dry_run: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_max: None,
            wait_max: None,
            // Idle transactions too: with fewer a pool of them would take the places.
            aside_max: 1_000,
            long_min: Nanos::ZERO,
            named_max: 64,
            named_min: 4,
            liveness_min: Nanos::from_secs(1),
            dry_run: false,
        }
    }
}

impl Options {
    pub(super) fn gate(&self) -> crate::gate::Options {
        crate::gate::Options { queue_max: self.queue_max, aside_max: self.aside_max, watch: self.dry_run }
    }
}
