//! What a response is asked for, and what it says.

use crate::bytes::Reader;
use crate::error::{ProtocolError, ServerError};
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Rows that the statement changed, as the server counts them.
    pub affected_rows: u64,
    /// AUTO_INCREMENT value of an insert.
    pub last_insert_id: u64,
    pub status: u16,
    /// Warnings that SHOW WARNINGS would list.
    pub warnings: u16,
}

/// Reads an OK packet, its first byte included; text and session state after the numbers are left.
pub(crate) fn parse_ok(payload: &[u8]) -> Result<Completion, ProtocolError> {
    let mut reader = Reader(payload);
    let mut parse = || {
        reader.u8()?;
        Some(Completion {
            affected_rows: reader.number()?,
            last_insert_id: reader.number()?,
            status: reader.u16()?,
            warnings: reader.u16()?,
        })
    };
    parse().ok_or(ProtocolError::Malformed("OK packet"))
}

/// Reads the end of rows or definitions: an OK packet in the new style, an EOF packet in the old.
pub(super) fn parse_end(payload: &[u8], deprecate_eof: bool) -> Result<Completion, ProtocolError> {
    if deprecate_eof {
        return parse_ok(payload);
    }
    let mut reader = Reader(payload);
    match (reader.u8(), reader.u16(), reader.u16()) {
        (Some(0xfe), Some(warnings), Some(status)) => {
            Ok(Completion { status, warnings, ..Completion::default() })
        }
        _ => Err(ProtocolError::Malformed("end of rows")),
    }
}

pub(crate) fn parse_prepared(payload: &[u8]) -> Result<(u32, u16, u16), ProtocolError> {
    let mut reader = Reader(payload);
    let mut parse = || {
        reader.u8()?;
        Some((reader.u32()?, reader.u16()?, reader.u16()?))
    };
    parse().ok_or(ProtocolError::Malformed("answer to a preparation"))
}
