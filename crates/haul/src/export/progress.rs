//! How far an export is.

/// How far an export is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows that were written.
    pub rows: u64,
    /// Bytes of the files together.
    pub bytes: u64,
}
