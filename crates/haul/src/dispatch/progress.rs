//! How far a dispatch is.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Step(String),
    /// Records of this table are moved.
    Moving {
        table: String,
        records: u64,
        total: u64,
    },
}
