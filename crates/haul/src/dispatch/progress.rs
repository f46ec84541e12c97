//! How far a dispatch is.

/// How far a dispatch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something begins that has no measure.
    Step(String),
    /// Records of this table are moved.
    Moving {
        /// The day table.
        table: String,
        /// Records moved, of all days.
        records: u64,
        /// Records to move.
        total: u64,
    },
}
