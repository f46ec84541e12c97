/// What an operator may set beside the bounds of the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The memory that all transactions may use together; it bounds the limit.
    pub memory: Option<Memory>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    pub budget: f64,
    pub each: f64,
}

impl Memory {
    /// Transactions that fit into the budget; `None` where the numbers make no sense.
    pub(super) fn transactions(self) -> Option<u32> {
        let fitting = self.budget / self.each;
        (self.each > 0.0 && fitting.is_finite()).then_some(fitting as u32)
    }
}
