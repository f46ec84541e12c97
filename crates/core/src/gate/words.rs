//! The words in which sessions and the gate talk.

use super::Lane;
use crate::Nanos;

/// The session that a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub session: SessionId,
    pub tenant: TenantId,
    /// The server that its connection leads to, where that may change
    /// ([`Keeper::server`](crate::admission::Keeper::server) when it was made).
    pub server: u32,
    /// What its server calls it: the number that KILL takes. Zero where nobody knows.
    pub thread: u32,
}

/// What begins a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct First {
    /// Of its first statement, or 0.
    pub digest: u64,
    /// Where somebody has chosen it; else what was learnt of the digest holds.
    pub lane: Option<Lane>,
}

impl From<u64> for First {
    fn from(digest: u64) -> Self {
        Self { digest, lane: None }
    }
}

/// Why a session was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("queue is full: {waiting} sessions wait, the bound is {bound}")]
    QueueFull { waiting: usize, bound: usize },
    #[error("query execution was interrupted while it waited for a place")]
    Killed,
    #[error("waited {:.3} s for a place, the longest allowed", bound.as_secs_f64())]
    WaitedTooLong { bound: Nanos },
}

/// What follows from a call for a session other than the one that called, or what follows later. The session may have left
/// meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The session may run, after this wait.
    Admitted(SessionId, Nanos),
    Rejected(SessionId, Rejection),
}

/// A session, by a number that its owner never uses for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(pub(super) u32);
