//! How much is tried to find out what statements cost.

use evenkeel_core::random::Seed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    pub seed: Seed,
    /// Times that each read is made and measured; 0 measures nothing.
    pub executions: u32,
    /// Most requests made to see how often each statement is asked, where the workload does not know; their
    /// writes are rolled back.
    pub requests: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seed: Seed(1), executions: 5, requests: 1_000 }
    }
}
