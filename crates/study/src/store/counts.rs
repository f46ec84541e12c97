//! What became of the arrivals, as the files have it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountsRecord {
    pub arrivals: u64,
    /// Requests that were answered without error.
    pub completed: u64,
    /// Answered by an error, by code.
    pub failed: BTreeMap<u16, u64>,
    /// Requests given up at the age of the timeout.
    pub timed_out: u64,
    /// Requests that were never sent.
    pub unsent: u64,
}
