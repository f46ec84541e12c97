//! What was written to a server that others use.

use evenkeel_lab::load::Written;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `written.json`: the rows of all loads of a study, those of the search among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Version of the file, [`FORMAT`](super::format::FORMAT).
    pub format: u32,
    /// Rows by what was done.
    #[serde(flatten)]
    pub rows: Written,
    /// Loads that were killed, so that nobody knows what they wrote.
    pub unknown_loads: u32,
}

impl fmt::Display for WrittenFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(out)?;
        match self.unknown_loads {
            0 => Ok(()),
            1 => write!(out, "; 1 load was killed or failed, and what it wrote is not known"),
            lost => write!(out, "; {lost} loads were killed or failed, and what they wrote is not known"),
        }
    }
}
