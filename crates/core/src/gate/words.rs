//! The words in which sessions and the gate talk.

use crate::Nanos;

/// Which limit a transaction runs under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    #[default]
    Short,
    Long,
}

impl Lane {
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];
}

/// What the gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Off,
    /// Counts what it would hold back.
    Watch,
    /// Limits, and finds the limits.
    Auto,
    /// Limits short transactions to so many.
    Fixed(u32),
}

impl Mode {
    /// From `off`, `watch`, `auto` or a number from 1 on.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "off" => Self::Off,
            "watch" => Self::Watch,
            "auto" => Self::Auto,
            number => Self::Fixed(number.parse().ok().filter(|limit| (1..=100_000).contains(limit))?),
        })
    }
}

/// A lane at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCensus {
    pub limit: usize,
    /// Transactions that run now, those aside left out.
    pub running: usize,
    pub waiting: usize,
}

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
    /// Whether it is all of it, and only reads.
    pub reads: bool,
}

impl From<u64> for First {
    fn from(digest: u64) -> Self {
        Self { digest, ..Self::default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_a_word_or_a_number() {
        for (text, mode) in
            [("auto", Mode::Auto), ("OFF", Mode::Off), ("watch", Mode::Watch), (" 12 ", Mode::Fixed(12))]
        {
            assert_eq!(Mode::parse(text), Some(mode));
        }
        for wrong in ["", "0", "on", "-3", "100001"] {
            assert_eq!(Mode::parse(wrong), None, "{wrong}");
        }
    }
}
