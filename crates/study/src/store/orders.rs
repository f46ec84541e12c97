//! Orders, as the files have them.

use serde::{Deserialize, Serialize};

/// Orders per minute of a run, with their spread over stretches of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerMinuteRecord {
    /// Over the whole measured phase.
    pub mean: f64,
    /// Standard error by batch means; absent of fewer than two stretches.
    pub se: Option<f64>,
    /// In the slowest stretch.
    pub lowest: f64,
    /// In the fastest one.
    pub highest: f64,
    /// Number of stretches.
    pub stretches: u32,
    /// Length of one, seconds.
    pub stretch_s: f64,
}
