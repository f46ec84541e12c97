//! What long data work tells those who watch it.

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rows go into the server.
    Rows,
    /// Rows come out of the server into a dump.
    Dump,
    /// Secondary indexes are built and statistics taken.
    Indexes,
    /// The server's content is compared with what was sent.
    Verify,
}

/// How far data work has come. Rows and bytes only rise, and stand still while a phase other than
/// `Rows` and `Dump` is the only one at work; the view makes rate and time left of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataProgress {
    /// What the connection that reported last is doing.
    pub phase: Phase,
    /// Name of the table that is worked on.
    pub table: &'static str,
    /// Rows moved so far, over all tables. A reload moves every row twice, out and in.
    pub rows_done: u64,
    /// Rows to move, over all tables; before the work ends it may be an estimate.
    pub rows_total: u64,
    /// Bytes of text moved so far.
    pub bytes: u64,
}
