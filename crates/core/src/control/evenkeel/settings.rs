//! What an operator may set.

/// What an operator may set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Bytes that transactions may use together, and what one uses; together a cap.
    pub memory: Option<Memory>,
}

/// A budget of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Bytes for all transactions.
    pub budget: f64,
    /// Bytes of one transaction, at most.
    pub each: f64,
}

impl Memory {
    /// Transactions that fit; `None` where the numbers make no sense.
    pub(super) fn room(self) -> Option<u32> {
        let room = self.budget / self.each;
        (self.each > 0.0 && room.is_finite()).then_some(room as u32)
    }
}
