//! How much is tried to find out what statements cost.

use evenkeel_core::random::Seed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    pub seed: Seed,
    /// Times that each read is made and measured; 0 measures nothing.
    pub executions: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seed: Seed(1), executions: 5 }
    }
}
