//! How a request ended.

use evenkeel_core::Nanos;

/// What became of it.
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
    /// Zero where it was never sent.
    pub send: Nanos,
    /// Zero where nothing came back.
    pub first_byte: Nanos,
    /// When it ended, however it did.
    pub done: Nanos,
    pub kind: u32,
    /// Slot of its session, [`NO_SESSION`] where it never had one.
    pub session: u32,
    /// How long it had to wait for a session; what is sent later than that is sent late.
    pub waited: Nanos,
    pub outcome: Outcome,
}

/// Session of a request that never had one.
pub(super) const NO_SESSION: u32 = u32::MAX;
