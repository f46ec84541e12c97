//! An account of writes: what was sent, what the server acknowledged, and what of it is there.
//!
//! [`Writing`] inserts numbered rows and keeps a file of what became of each; [`audit`] compares file and table.

mod account;
mod file;
mod write;

pub use account::{Account, Finding, audit};
pub use file::{Entry, Fate, Ledger, Line};
pub use write::{Plan, Writing, Written};

use std::fmt;

/// The table that the writers make, in the database that they are given.
pub const TABLE: &str = "evenkeel_ledger";

/// A row has the number that its writer counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Write {
    pub writer: u32,
    /// From 1 on, without gaps.
    pub number: u64,
}

impl Write {
    /// What its row holds besides its number, so that an altered row is seen.
    fn body(self) -> String {
        let mixed = (u64::from(self.writer) << 40 ^ self.number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{mixed:016x}")
    }
}

impl fmt::Display for Write {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.writer, self.number)
    }
}
