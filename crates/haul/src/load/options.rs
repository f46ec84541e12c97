//! How rows are loaded.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// The load ends; nothing of its part is stored.
    End,
    Reject,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub connections: usize,
    pub indexes: Indexes,
    pub part_bytes: u64,
    pub warnings: Warnings,
    pub again: bool,
}
