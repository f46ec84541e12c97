//! What the gate and its callers say to each other.

use super::ids::{SessionId, TenantId};
use evenkeel_core::Nanos;

/// The session that a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub session: SessionId,
    pub tenant: TenantId,
    /// The server that its connection leads to ([`Gate::server`](super::Gate::server) when it was made).
    /// Calls for another one than the present change nothing: it is admitted, and not counted.
    pub server: u32,
    /// What its server calls it: the number that KILL takes. Zero where nobody knows.
    pub thread: u32,
}

/// Why a running transaction can do without its permit for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loan {
    /// The server has nothing to do for it: its client pauses, does not read, or has sent half a command.
    Idle,
    /// A statement is at the server that has taken longer than its kind ever does.
    AtServer {
        /// When the statement began.
        since: Nanos,
    },
    /// A statement is at the server that says itself that it does not use it: it sleeps, or waits for a named lock.
    Asleep {
        /// When the statement began.
        since: Nanos,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    Queued,
    /// The transaction is refused.
    Rejected(Rejection),
}

/// Why a session was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("queue is full: {waiting} sessions wait, the bound is {bound}")]
    QueueFull { waiting: usize, bound: usize },
    #[error("query execution was interrupted while it waited for a permit")]
    Killed,
    #[error("waited {:.3} s for a permit, the longest allowed", bound.as_secs_f64())]
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

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    /// The server rolled it back: a deadlock, or a lock wait that took too long.
    RolledBack,
    /// It failed by overload: a time-out, out of resources.
    Overload,
    /// In a way that is no evidence about the server: its connection ended, or its statement was wrong.
    Ignored,
}

/// A transaction that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub outcome: Outcome,
    /// Digest of its statements, the same for transactions of the same statements; 0 where it is not known.
    pub digest: u64,
    /// Time in which its commands were at the server, which leaves out pauses of the client.
    pub busy: Nanos,
}

/// What the operator chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Most sessions that may wait; without it nobody is refused for their number.
    pub queue_max: Option<usize>,
    /// Longest wait; without it nobody is refused for a long one.
    pub wait_max: Option<Nanos>,
    /// Most idle transactions that may lend their permits at a time.
    pub lent_max: usize,
    /// Most sessions of a tenant that pass the queue because they hold named locks; never more than the limit, but for
    /// `named_min` ([`Gate::named_max`](super::Gate::named_max)).
    pub named_max: usize,
    /// So many of them may pass however small the limit is, because they may wait for each other's locks.
    pub named_min: usize,
    /// Shortest time without any end of a transaction after which the liveness rule admits one more.
    pub liveness_min: Nanos,
    /// Holds nothing back, and counts what it would have held back.
    pub dry_run: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_max: None,
            wait_max: None,
            lent_max: 1_000,
            named_max: 64,
            named_min: 4,
            liveness_min: Nanos::from_secs(1),
            dry_run: false,
        }
    }
}
