//! How rows are loaded.

/// When further indexes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// With the table.
    Before,
    /// Once all rows are in.
    After,
}

/// What becomes of a record that the server does not store as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// The load ends; nothing of its part is stored.
    End,
    /// It is a reject.
    Reject,
}

/// How rows are loaded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Connections that send rows at a time.
    pub connections: usize,
    /// When further indexes are made, where the load makes the table.
    pub indexes: Indexes,
    /// Bytes of a file in one transaction.
    pub part_bytes: u64,
    /// What becomes of records with warnings.
    pub warnings: Warnings,
    /// Forget what was loaded into tables that are empty or gone.
    pub again: bool,
}
