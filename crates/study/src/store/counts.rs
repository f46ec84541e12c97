//! What became of the arrivals, as the files have it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountsRecord {
    /// Scheduled.
    pub arrivals: u64,
    /// Answered.
    pub completed: u64,
    /// Answered by an error, by code.
    pub failed: BTreeMap<u16, u64>,
    /// Given up.
    pub timed_out: u64,
    /// Never sent.
    pub unsent: u64,
}
