//! How much all clients together may use up, and how long one may take.

use evenkeel_core::Nanos;

/// What clients may use up.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Clients at a time, and so descriptors.
    pub clients: usize,
    /// Bytes of answers that are not taken, all together; a single one may be longer.
    pub answers: usize,
    /// Time for a whole request.
    pub request: Nanos,
    /// Time for taking the answer.
    pub answer: Nanos,
}

impl Bounds {
    /// More clients than ever watch one process; times that a machine at its limit does not reach.
    pub const USUAL: Self =
        Self { clients: 64, answers: 32 << 20, request: Nanos::from_secs(10), answer: Nanos::from_secs(30) };
}
