//! The stretch of time that figures of the server are of, as the files have it.

use serde::{Deserialize, Serialize};

/// From one reading of the server's status to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StretchRecord {
    /// Its length. An overloaded server answers late, so that it is not that of the measured phase.
    pub seconds: f64,
    /// Requests that the server began in it, by its own count of statements, or those that were completed in it where that
    /// count does not tell; absent where nobody knows.
    pub requests: Option<f64>,
    /// How long a part of it the reading took: half the time between question and answer, of both ends. Counters that are not
    /// read at the same moment as the count of statements may be of a stretch so much longer or shorter.
    pub slack_s: f64,
}

impl StretchRecord {
    /// Beyond, the figures of one reading would be off by 5 %.
    const SLACK_MAX: f64 = 0.025;

    /// Whether counters that are read one after the other belong to about the same stretch.
    pub fn is_sharp(&self) -> bool {
        self.slack_s <= Self::SLACK_MAX * self.seconds
    }
}
