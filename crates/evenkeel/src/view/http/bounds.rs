//! How much all clients together may use up, and how long one may take.

use evenkeel_core::Nanos;

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub clients: usize,
    /// Bytes of answers that are not taken, all together; a single one may be longer.
    pub answers: usize,
    pub request: Nanos,
    pub answer: Nanos,
}

impl Bounds {
    /// More clients than ever watch one process; times that a machine at its limit does not reach.
    pub const USUAL: Self =
        Self { clients: 64, answers: 32 << 20, request: Nanos::from_secs(10), answer: Nanos::from_secs(30) };
}
