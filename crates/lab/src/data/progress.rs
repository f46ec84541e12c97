//! What long data work tells those who watch it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Rows,
    /// Secondary indexes are built and statistics taken.
    Indexes,
    /// The server's content is compared with what was sent.
    Verify,
}

/// How far data work has come. Rows and bytes only rise, and stand still while a phase other than
/// `Rows` is the only one at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataProgress {
    pub phase: Phase,
    pub table: &'static str,
    /// Rows written so far, over all tables.
    pub rows_done: u64,
    /// Rows to write, over all tables; before the work ends it may be an estimate.
    pub rows_total: u64,
    pub bytes: u64,
}
