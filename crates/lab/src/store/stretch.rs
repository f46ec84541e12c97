//! The stretch of time that figures of the server are of, as the files have it.

use serde::{Deserialize, Serialize};

/// From one reading of the server's status to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StretchRecord {
    /// Its length. An overloaded server answers late, so that it is not that of the measured phase.
    pub seconds: f64,
    /// Requests that the server began in it, by its own count of statements, or those that were completed in it where that
    /// count does not tell; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<f64>,
}
