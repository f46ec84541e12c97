//! What a dispatch came to: its days, and whether all records are still there.

use super::Day;
use serde::Serialize;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Dispatched {
    /// Each day, the earliest first; what a dispatch that was cut had left comes before.
    pub days: Vec<DayDone>,
    /// Records that are in day tables now and were not before.
    pub records: u64,
    /// Records without a date that stay in the source.
    pub undated: u64,
    /// What the audit found; `None` where nobody asked for one.
    pub audit: Option<Audit>,
    /// Whether this went on with a dispatch that was cut.
    pub resumed: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct DayDone {
    pub day: Day,
    pub table: String,
    pub records: u64,
    /// Whether the table was made for them.
    pub created: bool,
    /// How many others of the day stay in the source.
    pub stayed: u64,
    /// How many these are and why, in words.
    pub refused: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Rows of the source and of the tables of its days before.
    pub before: u64,
    /// The same after it.
    pub rows: u64,
    /// Whether they are the same rows, each as often.
    pub same: bool,
    pub tables: usize,
    /// What the sums took, in milliseconds.
    pub took_ms: u64,
}
