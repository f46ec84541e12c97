//! How a request ended.

use evenkeel_core::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    Failed(u16),
    TimedOut,
    Unsent,
}

/// The end of a request; instants are on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub arrival: Nanos,
    pub send: Nanos,
    pub first_byte: Nanos,
    pub done: Nanos,
    pub kind: u32,
    /// Slot of its session, [`NO_SESSION`] where it never had one.
    pub session: u32,
    /// How long it had to wait for a session; what is sent later than that is sent late.
    pub waited: Nanos,
    pub outcome: Outcome,
}

pub(super) const NO_SESSION: u32 = u32::MAX;
