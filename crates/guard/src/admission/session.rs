//! What the gate knows of a session.

use super::meter::TenantId;
use super::tenant::Ticket;
use evenkeel_core::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    Permit,
    Unqueued,
    Liveness,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Waiting(Ticket),
    Running,
    /// Idle, with its permit lent.
    Lent,
    /// Its permit is lent while a statement that began then is at the server.
    OnLoan {
        since: Nanos,
    },
    /// The same while a statement sleeps there, as its text says.
    Asleep {
        since: Nanos,
    },
}

impl Stage {
    pub fn is_lent(self) -> bool {
        matches!(self, Self::Lent | Self::OnLoan { .. } | Self::Asleep { .. })
    }
}

/// A session that waits or runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub tenant: TenantId,
    pub stage: Stage,
    pub entrance: Entrance,
    pub admitted: Nanos,
    /// Its transaction was on loan at the server once: its time says nothing about others.
    pub was_on_loan: bool,
}
