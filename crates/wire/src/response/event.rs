//! What a response is asked for, and what it says.

use super::ok::Completion;
use crate::error::ServerError;
use crate::row::Row;

/// Which command the response answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// A query, ping or reset: rows in text.
    #[default]
    Text,
    /// An execution of a prepared statement: rows in binary.
    Binary,
    Prepared,
}

/// One thing that a response says.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    Ok(Completion),
    Columns(u64),
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
        statement: u32,
        parameters: u16,
    },
    /// The server wants the file that [`ResponseReader::offer_file`](super::ResponseReader::offer_file) offered, in packets from this number on, an empty
    /// one last; then [`ResponseReader::file_sent`](super::ResponseReader::file_sent) is due.
    FileWanted {
        sequence: u8,
    },
    Error(ServerError),
}
