//! What a server sends back to a command, recognised in whatever pieces it arrives.
//!
//! The reader is a state machine over packets. A packet that lies whole in the input is read where it lies;
//! of one that arrives in pieces only the first [`HEAD_BYTES`] are kept, unless its row is captured. Rows
//! that nobody captures are counted and skipped: no allocation, no copy.

mod event;
mod packets;

use crate::bytes::Reader;
use crate::error::{ProtocolError, ServerError};
use crate::packet::{HEADER_BYTES, PAYLOAD_MAX};
use crate::row::{Column, Row};
use crate::status;
use event::parse_end;
pub use event::{Completion, Event, Expect};
pub(crate) use event::{parse_ok, parse_prepared};
pub use packets::HEAD_BYTES;

/// Most columns of a result whose rows are captured; the server's own limit.
const COLUMNS_MAX: u64 = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Done,
    First,
    /// Column definitions still to come, and whether they describe rows that follow.
    Definitions {
        left: u64,
        rows_follow: bool,
    },
    /// The packet that closes definitions where old-style end packets are used.
    DefinitionsEnd {
        rows_follow: bool,
    },
    Rows,
    /// The server waits for a file; nothing is due from it.
    File,
}

#[derive(Debug, Default)]
pub struct ResponseReader {
    deprecate_eof: bool,
    packet_limit: usize,
    expect: Expect,
    capture: bool,
    state: State,
    /// Definitions of columns that follow those of the parameters (of a preparation).
    definitions_after: u64,
    sequence: u8,
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    /// Bytes of the packet that were not seen yet.
    left: usize,
    /// Whether a packet of full length came before and this one continues it.
    continues: bool,
    /// Length of the payload over all its packets.
    length: u64,
    head: Vec<u8>,
    columns: Columns,
    /// Whether the server may ask for a file.
    offers_file: bool,
    rows: u64,
}

/// What a packet brought; the row itself is still where it was read.
enum Found {
    Nothing,
    Event(Event<'static>),
    Row,
}

impl ResponseReader {
    /// For a session with or without `CLIENT_DEPRECATE_EOF`; captured rows and their definitions above
    /// `packet_limit` bytes are refused.
    pub fn new(deprecate_eof: bool, packet_limit: usize) -> Self {
        Self { deprecate_eof, packet_limit, ..Self::default() }
    }

    /// One that keeps the names of captured columns too.
    #[must_use]
    pub fn with_names(self) -> Self {
        Self { columns: Columns { names: Some(Vec::new()), ..self.columns }, ..self }
    }

    /// Names of the columns that were captured last; empty without [`ResponseReader::with_names`].
    pub fn names(&self) -> &[String] {
        self.columns.names.as_deref().unwrap_or_default()
    }

    /// A command was sent; its response comes next, from packet number `sequence` on.
    pub fn begin(&mut self, expect: Expect, sequence: u8, capture: bool) {
        self.expect = expect;
        self.capture = capture && expect != Expect::Prepared;
        self.state = State::First;
        self.definitions_after = 0;
        self.sequence = sequence;
        self.header_filled = 0;
        self.continues = false;
        self.head.clear();
        self.offers_file = false;
        self.rows = 0;
        self.forget_columns();
    }

    /// The command that was begun last may ask for a file, once.
    pub fn offer_file(&mut self) {
        self.offers_file = true;
    }

    /// The file was sent to its end; the response goes on at packet number `sequence`.
    pub fn file_sent(&mut self, sequence: u8) {
        if self.state == State::File {
            self.sequence = sequence;
            self.state = State::First;
        }
    }

    /// Of the response under way no further row is captured; they are counted still.
    pub fn skip_rows(&mut self) {
        self.capture = false;
    }

    fn forget_columns(&mut self) {
        if self.capture {
            self.columns.clear();
        }
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes bytes from the front of `input` up to the next event; `None` when more bytes are needed or
    /// the response is done. After an error the connection is of no more use.
    pub fn next<'r, 'i: 'r>(&'r mut self, input: &mut &'i [u8]) -> Result<Option<Event<'r>>, ProtocolError> {
        while !matches!(self.state, State::Done | State::File) {
            let Some(whole) = self.packet(input)? else { return Ok(None) };
            let found = match whole {
                Some(payload) => self.read(payload)?,
                None => self.read_head()?,
            };
            match found {
                Found::Nothing => {}
                Found::Event(event) => return Ok(Some(event)),
                Found::Row => {
                    let payload = whole.unwrap_or(&self.head);
                    let binary = self.expect == Expect::Binary;
                    return Ok(Some(Event::Row(Row::new(payload, &self.columns.all, binary))));
                }
            }
        }
        if input.is_empty() { Ok(None) } else { Err(ProtocolError::Unasked) }
    }

    fn read_head(&mut self) -> Result<Found, ProtocolError> {
        let head = std::mem::take(&mut self.head);
        let found = self.read(&head);
        self.head = head;
        found
    }

    fn read(&mut self, payload: &[u8]) -> Result<Found, ProtocolError> {
        match self.state {
            State::First => self.read_first(payload),
            State::Definitions { left, rows_follow } => self.read_definition(payload, left, rows_follow),
            State::DefinitionsEnd { rows_follow } => self.read_definitions_end(payload, rows_follow),
            State::Rows => self.read_row(payload),
            State::Done | State::File => Ok(Found::Nothing),
        }
    }

    fn read_first(&mut self, payload: &[u8]) -> Result<Found, ProtocolError> {
        match (payload.first(), self.expect) {
            (Some(0xff), _) => self.read_error(payload),
            (Some(0), Expect::Prepared) => self.read_prepared(payload),
            (_, Expect::Prepared) => Err(ProtocolError::Malformed("answer to a preparation")),
            (Some(0), _) => {
                let ok = parse_ok(payload)?;
                self.after_result(ok.status);
                Ok(Found::Event(Event::Ok(ok)))
            }
            (Some(0xfb), _) => self.read_file_wanted(),
            // How servers answer a change of options.
            (Some(0xfe), _) if payload.len() < 9 => {
                let ok = parse_end(payload, false)?;
                self.after_result(ok.status);
                Ok(Found::Event(Event::Ok(ok)))
            }
            _ => self.read_column_count(payload),
        }
    }

    /// The name of the file is the server's idea, and is not looked at.
    fn read_file_wanted(&mut self) -> Result<Found, ProtocolError> {
        if !std::mem::take(&mut self.offers_file) {
            return Err(ProtocolError::LocalFile);
        }
        self.state = State::File;
        Ok(Found::Event(Event::FileWanted { sequence: self.sequence }))
    }

    fn read_column_count(&mut self, payload: &[u8]) -> Result<Found, ProtocolError> {
        let mut reader = Reader(payload);
        match reader.number() {
            Some(count @ 1..=COLUMNS_MAX) if reader.0.is_empty() => {
                self.forget_columns();
                self.rows = 0;
                self.state = State::Definitions { left: count, rows_follow: true };
                Ok(Found::Event(Event::Columns(count)))
            }
            _ => Err(ProtocolError::Malformed("column count")),
        }
    }

    fn read_prepared(&mut self, payload: &[u8]) -> Result<Found, ProtocolError> {
        let (statement, columns, parameters) = parse_prepared(payload)?;
        self.definitions_after = u64::from(columns);
        self.state = match (parameters, columns) {
            (0, 0) => State::Done,
            (0, _) => self.definitions_of_columns(),
            _ => State::Definitions { left: u64::from(parameters), rows_follow: false },
        };
        Ok(Found::Event(Event::Prepared { statement, parameters }))
    }

    fn definitions_of_columns(&mut self) -> State {
        match std::mem::take(&mut self.definitions_after) {
            0 => State::Done,
            left => State::Definitions { left, rows_follow: false },
        }
    }

    fn read_definition(&mut self, payload: &[u8], left: u64, rows: bool) -> Result<Found, ProtocolError> {
        if payload.first() == Some(&0xff) {
            return self.read_error(payload);
        }
        if self.capture && rows {
            self.columns.push(payload)?;
        }
        self.state = match left - 1 {
            0 if !self.deprecate_eof => State::DefinitionsEnd { rows_follow: rows },
            0 if rows => State::Rows,
            0 => self.definitions_of_columns(),
            left => State::Definitions { left, rows_follow: rows },
        };
        Ok(Found::Nothing)
    }

    fn read_definitions_end(&mut self, payload: &[u8], rows_follow: bool) -> Result<Found, ProtocolError> {
        if payload.first() == Some(&0xff) {
            return self.read_error(payload);
        }
        let end = parse_end(payload, false)?;
        if !rows_follow {
            self.state = self.definitions_of_columns();
            return Ok(Found::Nothing);
        }
        // With a cursor the rows stay at the server until they are fetched.
        if end.status & status::CURSOR_EXISTS != 0 {
            return Ok(self.end_rows(end));
        }
        self.state = State::Rows;
        Ok(Found::Nothing)
    }

    fn read_row(&mut self, payload: &[u8]) -> Result<Found, ProtocolError> {
        match payload.first() {
            Some(0xff) => self.read_error(payload),
            Some(0xfe) if self.is_end() => {
                let end = parse_end(payload, self.deprecate_eof)?;
                Ok(self.end_rows(end))
            }
            None => Err(ProtocolError::Malformed("row")),
            Some(_) => {
                self.rows += 1;
                Ok(if self.capture { Found::Row } else { Found::Nothing })
            }
        }
    }

    /// A row may begin with 0xFE too, as the length of a value of 16 MiB or more; the end is shorter.
    fn is_end(&self) -> bool {
        let limit = if self.deprecate_eof { PAYLOAD_MAX as u64 } else { 9 };
        self.length < limit
    }

    fn end_rows(&mut self, ok: Completion) -> Found {
        self.after_result(ok.status);
        Found::Event(Event::RowsEnd { rows: self.rows, ok })
    }

    fn read_error(&mut self, payload: &[u8]) -> Result<Found, ProtocolError> {
        self.state = State::Done;
        Ok(Found::Event(Event::Error(ServerError::parse(payload)?)))
    }

    fn after_result(&mut self, status: u16) {
        let more = status & status::MORE_RESULTS != 0;
        self.state = if more { State::First } else { State::Done };
    }
}

/// Bytes kept of a column's name: the 256 characters that a server itself keeps.
const NAME_MAX: usize = 1024;

/// The columns of rows that are captured.
#[derive(Debug, Default)]
struct Columns {
    all: Vec<Column>,
    names: Option<Vec<String>>,
}

impl Columns {
    fn clear(&mut self) {
        self.all.clear();
        self.names.iter_mut().for_each(Vec::clear);
    }

    /// One more, by its definition.
    fn push(&mut self, definition: &[u8]) -> Result<(), ProtocolError> {
        self.all.push(Column::parse(definition)?);
        if let Some(names) = &mut self.names {
            names.push(name(definition).ok_or(ProtocolError::Malformed("column definition"))?);
        }
        Ok(())
    }
}

/// The name of a column, cut where no server's is longer; before it stand catalogue, schema, and both names of the table.
fn name(definition: &[u8]) -> Option<String> {
    let mut reader = Reader(definition);
    for _ in 0..4 {
        reader.string()?;
    }
    let name = reader.string()?;
    Some(String::from_utf8_lossy(&name[..name.len().min(NAME_MAX)]).into_owned())
}

#[cfg(test)]
mod tests;
