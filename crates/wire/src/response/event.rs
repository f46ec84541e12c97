//! What a response is asked for, and what it says.

use super::ok::Completion;
use crate::error::ServerError;
use crate::row::Row;

/// Which command the response answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A query, ping or reset: rows in text.
    Text,
    /// An execution of a prepared statement: rows in binary.
    Binary,
    /// The preparation of a statement.
    Prepared,
}

/// One thing that a response says.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A statement without rows was done.
    Ok(Completion),
    /// A result set begins.
    Columns(u64),
    /// A captured row.
    Row(Row<'a>),
    /// A result set ended.
    RowsEnd {
        /// Its rows, captured or not.
        rows: u64,
        /// Status and warnings.
        ok: Completion,
    },
    /// A statement was prepared; its definitions follow and are skipped.
    Prepared {
        /// Number to execute it by.
        statement: u32,
        /// Parameters it takes.
        parameters: u16,
    },
    /// The server wants the file that [`ResponseReader::offer_file`](super::ResponseReader::offer_file) offered, in packets from this number on, an empty
    /// one last; then [`ResponseReader::file_sent`](super::ResponseReader::file_sent) is due.
    FileWanted {
        /// Number of the first packet.
        sequence: u8,
    },
    /// The command failed.
    Error(ServerError),
}
