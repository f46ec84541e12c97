//! What a server sends back, in whatever pieces it arrives: where each reply ends, and how.

use super::command::{CommandKind, Expect};
use super::frame::Frame;
use super::query::Dialect;
use crate::bytes::Reader;
use crate::error::ProtocolError;
use crate::response::{parse_ok, parse_prepared};
use crate::status;
use std::collections::VecDeque;

/// Most commands that may wait for their replies; a relay stops reading a client that sends more ahead.
pub const PENDING_MAX: usize = 256;

/// One thing that a server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A statement was done, or its rows ended.
    Result {
        /// Flags of [`crate::status`].
        status: u16,
        rows: u64,
        affected: u64,
        /// First AUTO_INCREMENT number of the rows that were inserted; 0 where there is none.
        inserted: u64,
        /// Whether another result of the same command follows.
        more: bool,
    },
    /// The command failed: its reply ends, and no result follows.
    Error { code: u16 },
    /// A statement was prepared, and its definitions have passed.
    Prepared { statement: u32 },
    /// An answer without flags has passed: a line of statistics.
    Text,
    /// The server asks for a file of the client's.
    FileRequest,
    /// The server asks the client who it is; [`ReplyReader::head`] says how.
    LoginRequest,
    /// The stream that was asked for begins; nothing of it is looked at.
    StreamBegins,
    /// An error though nobody asked: the server ends the connection and says why.
    Farewell { code: u16 },
}

impl Reply {
    pub fn is_end(self) -> bool {
        match self {
            Self::Result { more, .. } => !more,
            Self::Error { .. } | Self::Prepared { .. } | Self::Text => true,
            Self::FileRequest | Self::LoginRequest | Self::StreamBegins | Self::Farewell { .. } => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A result begins, or the reply itself.
    First,
    /// Definitions of a result's columns, or of a preparation's.
    Definitions {
        left: u64,
        then: Then,
    },
    /// The packet that closes definitions where old-style end packets are used.
    DefinitionsEnd {
        then: Then,
    },
    Rows,
    Fields,
    Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Rows,
    /// Of a preparation: so many definitions of columns, then its end.
    Columns {
        statement: u32,
        columns: u16,
    },
}

#[derive(Debug)]
pub struct ReplyReader {
    dialect: Dialect,
    pending: VecDeque<Expect>,
    state: State,
    frame: Frame,
    rows: u64,
}

type Found = Result<Option<Reply>, ProtocolError>;

impl ReplyReader {
    /// For a session whose login is over.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, pending: VecDeque::new(), state: State::First, frame: Frame::default(), rows: 0 }
    }

    /// A command was sent.
    pub fn expect(&mut self, kind: CommandKind) {
        match kind.expect() {
            Expect::Nothing => {}
            expect => self.pending.push_back(expect),
        }
    }

    /// Commands that wait for the end of their reply.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How the command that was sent first of those that wait is answered.
    pub fn answers(&self) -> Option<Expect> {
        self.pending.front().copied()
    }

    /// Whether so many commands wait that no more should be sent.
    pub fn is_full(&self) -> bool {
        self.pending.len() >= PENDING_MAX
    }

    /// Whether no packet has begun that has not ended.
    pub fn is_between(&self) -> bool {
        !self.frame.is_inside()
    }

    /// Whether the oldest answer that is due has begun and not ended.
    pub fn has_begun(&self) -> bool {
        self.state != State::First || self.frame.is_inside()
    }

    pub fn number(&self) -> u8 {
        self.frame.number()
    }

    /// First bytes of the last packet, its number and length left out.
    pub fn head(&self) -> &[u8] {
        self.frame.head()
    }

    /// Takes bytes from the front of `input` up to the next thing worth telling; `None` when all were taken.
    pub fn next(&mut self, input: &mut &[u8]) -> Found {
        loop {
            if self.state == State::Stream {
                *input = &[];
                return Ok(None);
            }
            let found = match self.state {
                // Most of what a server says tells a relay nothing: rows, and what their columns are called.
                State::Rows if self.frame.skip(input)? => {
                    self.rows += 1;
                    None
                }
                State::Definitions { left, then } if self.frame.skip(input)? => {
                    self.definitions(left - 1, then)?
                }
                _ if self.frame.take(input)? => self.read()?,
                _ => return Ok(None),
            };
            if let Some(reply) = found {
                self.after(reply);
                return Ok(Some(reply));
            }
        }
    }

    /// Gets ready for the packet after a reply.
    fn after(&mut self, reply: Reply) {
        let others_turn = matches!(reply, Reply::FileRequest | Reply::LoginRequest);
        if reply.is_end() {
            self.pending.pop_front();
            self.state = State::First;
        }
        if reply.is_end() || others_turn || matches!(reply, Reply::Farewell { .. }) {
            self.frame.any_number_is_due();
        }
    }

    fn read(&mut self) -> Found {
        match (self.state, self.frame.first()) {
            (State::First, first) => self.read_first(first),
            (_, Some(0xff)) => self.read_error(),
            (State::Definitions { left, then }, _) => self.definitions(left - 1, then),
            (State::DefinitionsEnd { then }, _) => self.read_definitions_end(then),
            (State::Rows, _) => self.read_row(),
            (State::Fields, _) if self.frame.is_end(self.dialect.deprecate_eof()) => self.read_end(),
            (State::Fields | State::Stream, _) => Ok(None),
        }
    }

    fn read_first(&mut self, first: Option<u8>) -> Found {
        let expect = self.pending.front().copied();
        match (expect, first) {
            (None, Some(0xff)) => Ok(Some(Reply::Farewell { code: self.error_code()? })),
            (None | Some(Expect::Nothing), _) => Err(ProtocolError::Unasked),
            (_, Some(0xff)) => self.read_error(),
            // The first packet says only whether the stream begins.
            (Some(Expect::Stream), _) => {
                self.state = State::Stream;
                Ok(Some(Reply::StreamBegins))
            }
            (Some(Expect::Text), _) => Ok(Some(Reply::Text)),
            (Some(Expect::Prepared), Some(0)) => self.read_prepared(),
            (Some(Expect::Ok | Expect::Results | Expect::Login), Some(0)) => self.read_ok(),
            (Some(Expect::Ok), Some(0xfe)) => self.read_end(),
            (Some(Expect::Login), Some(0xfe | 1 | 2)) => Ok(Some(Reply::LoginRequest)),
            (Some(Expect::Results), Some(0xfb)) => self.read_file_request(),
            (Some(Expect::Results), _) => self.read_column_count(),
            (Some(Expect::Rows), _) => {
                self.begin_rows();
                self.read_row()
            }
            (Some(Expect::Fields), _) => {
                self.state = State::Fields;
                self.read()
            }
            _ => Err(ProtocolError::Malformed("reply")),
        }
    }

    /// What a client sent ahead would now be taken for its file, so that nobody knows any more what it is.
    fn read_file_request(&self) -> Found {
        match self.pending.len() {
            1 => Ok(Some(Reply::FileRequest)),
            _ => Err(ProtocolError::Malformed("request for a file while other commands wait")),
        }
    }

    fn begin_rows(&mut self) {
        self.rows = 0;
        self.state = State::Rows;
    }

    fn read_column_count(&mut self) -> Found {
        let mut reader = Reader(self.frame.head());
        let count = reader.number().filter(|count| *count > 0);
        let follows = if self.dialect.caches_metadata() { reader.u8() } else { Some(1) };
        match (count, follows, reader.0) {
            (Some(count), Some(follows), []) if self.frame.length() <= 10 => {
                self.definitions(if follows == 0 { 0 } else { count }, Then::Rows)
            }
            _ => Err(ProtocolError::Malformed("column count")),
        }
    }

    /// So many definitions are left.
    fn definitions(&mut self, left: u64, then: Then) -> Found {
        match left {
            0 if self.dialect.deprecate_eof() => return Ok(self.after_definitions(then)),
            0 => self.state = State::DefinitionsEnd { then },
            left => self.state = State::Definitions { left, then },
        }
        Ok(None)
    }

    fn after_definitions(&mut self, then: Then) -> Option<Reply> {
        match then {
            Then::Rows => self.begin_rows(),
            Then::Columns { statement, columns: 0 } => return Some(Reply::Prepared { statement }),
            Then::Columns { statement, columns } => {
                let then = Then::Columns { statement, columns: 0 };
                self.state = State::Definitions { left: u64::from(columns), then };
            }
        }
        None
    }

    fn read_definitions_end(&mut self, then: Then) -> Found {
        if !self.frame.is_end(false) {
            return Err(ProtocolError::Malformed("end of definitions"));
        }
        // With a cursor the rows stay at the server until they are fetched.
        if then == Then::Rows && old_end(self.frame.head())? & status::CURSOR_EXISTS != 0 {
            self.rows = 0;
            return self.read_end();
        }
        Ok(self.after_definitions(then))
    }

    fn read_row(&mut self) -> Found {
        match self.frame.first() {
            Some(0xff) => self.read_error(),
            Some(_) if self.frame.is_end(self.dialect.deprecate_eof()) => self.read_end(),
            Some(_) => {
                self.rows += 1;
                Ok(None)
            }
            None => Err(ProtocolError::Malformed("row")),
        }
    }

    fn read_ok(&mut self) -> Found {
        self.rows = 0;
        let ok = parse_ok(self.frame.head())?;
        Ok(Some(self.result((ok.affected_rows, ok.last_insert_id), ok.status)))
    }

    /// The end of rows: an OK packet in the new style, an end packet of five bytes in the old.
    fn read_end(&mut self) -> Found {
        let head = self.frame.head();
        let (counts, status) = match self.frame.length() {
            5 => ((0, 0), old_end(head)?),
            _ if self.dialect.deprecate_eof() => {
                parse_ok(head).map(|ok| ((ok.affected_rows, ok.last_insert_id), ok.status))?
            }
            _ => return Err(ProtocolError::Malformed("end of rows")),
        };
        Ok(Some(self.result(counts, status)))
    }

    fn result(&mut self, (affected, inserted): (u64, u64), status: u16) -> Reply {
        let rows = std::mem::take(&mut self.rows);
        // Only what runs statements has several results.
        let more = status & status::MORE_RESULTS != 0 && self.pending.front() == Some(&Expect::Results);
        self.state = State::First;
        Reply::Result { status, rows, affected, inserted, more }
    }

    fn read_prepared(&mut self) -> Found {
        let (statement, columns, parameters) = parse_prepared(self.frame.head())?;
        match parameters {
            0 => Ok(self.after_definitions(Then::Columns { statement, columns })),
            parameters => {
                let then = Then::Columns { statement, columns };
                self.state = State::Definitions { left: u64::from(parameters), then };
                Ok(None)
            }
        }
    }

    fn read_error(&mut self) -> Found {
        match self.error_code()? {
            // An error that a client signals itself may have that number too (MySQL), and then has a state.
            0xffff if self.dialect.reports_progress() && self.frame.head().get(3) != Some(&b'#') => Ok(None),
            code => Ok(Some(Reply::Error { code })),
        }
    }

    fn error_code(&self) -> Result<u16, ProtocolError> {
        match self.frame.head() {
            [_, low, high, ..] => Ok(u16::from_le_bytes([*low, *high])),
            _ => Err(ProtocolError::Malformed("error packet")),
        }
    }
}

/// Flags of an old-style end packet.
fn old_end(head: &[u8]) -> Result<u16, ProtocolError> {
    match head {
        [0xfe, _, _, low, high] => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(ProtocolError::Malformed("end packet")),
    }
}
