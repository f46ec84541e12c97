//! What a client sends, in whatever pieces it arrives.
//!
//! A relay has to know a command before it decides what becomes of it. The reader therefore takes nothing
//! by itself: it looks at the caller's input and says what the next bytes are. A command is shown as soon
//! as its head is there, while the rest may still be on its way.

use crate::error::ProtocolError;
use crate::packet::{HEADER_BYTES, PAYLOAD_MAX};

/// Most bytes of a command that are shown before it is decided.
pub const HEAD_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    pub kind: CommandKind,
    /// Its payload, at most [`HEAD_MAX`] bytes of it; the first is the command's number.
    pub head: &'a [u8],
    /// Length of its first packet's payload; another follows if it is `0xFFFFFF`.
    pub length: usize,
}

impl Command<'_> {
    pub fn is_whole(&self) -> bool {
        self.head.len() == self.length
    }

    /// The number of the prepared statement it is about, where it is about one.
    pub fn statement(&self) -> Option<u32> {
        use CommandKind::{BulkExecute, Close, Execute, Fetch, LongData, ResetStatement};
        let about = matches!(self.kind, Execute | BulkExecute | Fetch | LongData | Close | ResetStatement);
        match self.head {
            [_, a, b, c, d, ..] if about => Some(u32::from_le_bytes([*a, *b, *c, *d])),
            _ => None,
        }
    }
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// So many belong to what was accepted before, and were counted: to be sent on.
    Pass(usize),
    /// A command begins; nothing was taken. [`CommandReader::accept`] takes it.
    Command(Command<'a>),
    /// A command begins while the server still asks the client who it is, or has not said whether it streams: not
    /// before that.
    Wait,
    /// Not enough to say; the same bytes and more are needed. At most [`HEAD_MAX`] and a header.
    More,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Each packet begins a command.
    #[default]
    Commands,
    /// Packets that are numbered belong to a login, one numbered 0 begins a command.
    Login,
    /// The server asked for a file, which an empty packet ends.
    File,
    /// A stream was asked for; the server has not said yet whether there is one.
    StreamAsked,
    /// Nothing is looked at.
    Stream,
}

#[derive(Debug, Default)]
pub struct CommandReader {
    mode: Mode,
    /// Bytes left of the packet that passes.
    left: u32,
    /// Whether the next packet continues the one that passes.
    continues: bool,
    /// Number of that next packet.
    due: u8,
}

impl CommandReader {
    /// For a client that has logged in.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the last command was taken to its end.
    pub fn is_between(&self) -> bool {
        let between = matches!(self.mode, Mode::Commands | Mode::Login | Mode::StreamAsked);
        self.left == 0 && !self.continues && between
    }

    /// Whether nothing is looked at any more.
    pub fn is_stream(&self) -> bool {
        self.mode == Mode::Stream
    }

    /// Bytes that are still to come of the packet that passes.
    pub fn left(&self) -> usize {
        self.left as usize
    }

    /// Number of the packet that would answer the last command, once it was taken to its end.
    pub fn next_number(&self) -> u8 {
        self.due
    }

    /// The server asked for a file, in a packet of this number: what the client sends next is that file.
    pub fn file_follows(&mut self, request: u8) -> Result<(), ProtocolError> {
        match (self.mode, self.is_between()) {
            (Mode::Commands, true) => {
                self.mode = Mode::File;
                self.due = request.wrapping_add(1);
                Ok(())
            }
            _ => Err(ProtocolError::Malformed("request for a file")),
        }
    }

    /// Whether a change of user waits for its answer: a defect that `bench/simulation` plants asks.
    pub fn is_login(&self) -> bool {
        self.mode == Mode::Login
    }

    /// A change of user was answered.
    pub fn login_ended(&mut self) {
        if self.mode == Mode::Login {
            self.mode = Mode::Commands;
        }
    }

    /// The stream that was asked for begins: nothing is looked at any more.
    pub fn stream_begins(&mut self) {
        if self.mode == Mode::StreamAsked {
            self.mode = Mode::Stream;
        }
    }

    /// The stream that was asked for is refused: the next bytes are commands as before.
    pub fn stream_refused(&mut self) {
        if self.mode == Mode::StreamAsked {
            self.mode = Mode::Commands;
        }
    }

    /// What the front of `input` is.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, ProtocolError> {
        if input.is_empty() {
            return Ok(Step::More);
        }
        if self.mode == Mode::Stream {
            return Ok(Step::Pass(input.len()));
        }
        if self.left > 0 {
            let count = input.len().min(self.left as usize);
            self.left -= count as u32;
            return Ok(Step::Pass(count));
        }
        let [a, b, c, sequence, payload @ ..] = input else { return Ok(Step::More) };
        let length = u32::from_le_bytes([*a, *b, *c, 0]);
        if self.continues {
            return self.pass_packet(length, *sequence, true);
        }
        match self.mode {
            Mode::File => self.pass_file(length, *sequence),
            Mode::Login if *sequence != 0 => self.pass_packet(length, *sequence, false),
            Mode::Login | Mode::StreamAsked => Ok(Step::Wait),
            Mode::Commands | Mode::Stream => command(length as usize, *sequence, payload),
        }
    }

    /// Takes the command that [`CommandReader::next`] showed: what it says of its bytes next is `Pass`.
    pub fn accept(&mut self, command: &Command<'_>) {
        self.left = (HEADER_BYTES + command.length) as u32;
        self.continues = command.length == PAYLOAD_MAX;
        self.due = 1;
        self.mode = match command.kind.expect() {
            Expect::Login => Mode::Login,
            Expect::Stream => Mode::StreamAsked,
            _ => Mode::Commands,
        };
    }

    fn pass_packet(
        &mut self,
        length: u32,
        found: u8,
        numbered: bool,
    ) -> Result<Step<'static>, ProtocolError> {
        if numbered && found != self.due {
            return Err(ProtocolError::Sequence { expected: self.due, found });
        }
        self.due = found.wrapping_add(1);
        self.left = length;
        self.continues = length as usize == PAYLOAD_MAX;
        Ok(Step::Pass(HEADER_BYTES))
    }

    /// At a number that is not due a server gives the file up, and takes what is in the packet for commands.
    fn pass_file(&mut self, length: u32, sequence: u8) -> Result<Step<'static>, ProtocolError> {
        let step = self.pass_packet(length, sequence, true)?;
        if length == 0 {
            self.mode = Mode::Commands;
        }
        Ok(step)
    }
}

fn command(length: usize, sequence: u8, payload: &[u8]) -> Result<Step<'_>, ProtocolError> {
    if sequence != 0 {
        return Err(ProtocolError::Sequence { expected: 0, found: sequence });
    }
    let Some(head) = payload.get(..length.min(HEAD_MAX)) else { return Ok(Step::More) };
    let kind = CommandKind::of(head.first().copied().unwrap_or_default());
    Ok(Step::Command(Command { kind, head, length }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandKind {
    Quit,
    InitDb,
    Query,
    FieldList,
    /// Flushes and the like; gone in newer servers.
    Refresh,
    /// End of the server.
    Shutdown,
    /// A line of text about the server.
    Statistics,
    /// Running sessions, as rows.
    ProcessInfo,
    /// Kills another session.
    ProcessKill,
    /// Debug output into the server's log.
    Debug,
    Ping,
    /// Another account in the same session.
    ChangeUser,
    /// Changes of a server, as a stream without end.
    BinlogDump,
    /// A replica introduces itself.
    RegisterReplica,
    Prepare,
    Execute,
    /// A piece of a parameter; not answered.
    LongData,
    Close,
    /// Forgets a statement's pieces and cursor.
    ResetStatement,
    /// Multi-statements on or off.
    SetOption,
    /// More rows of a cursor.
    Fetch,
    /// Brings the session back to its state after login.
    ResetConnection,
    /// Runs a prepared statement for an array of parameters (MariaDB).
    BulkExecute,
    /// Any other; servers answer it with an error.
    Unknown(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Nothing,
    /// OK, an end packet or an error.
    Ok,
    Text,
    Results,
    Prepared,
    Rows,
    Fields,
    /// Perhaps questions to the client, then OK or an error.
    Login,
    /// Bytes without an end that could be told; so is the client's side from here on.
    Stream,
}

impl CommandKind {
    /// By the first byte of the payload; an empty payload is what servers take it for, a 0.
    pub fn of(byte: u8) -> Self {
        match byte {
            0x01 => Self::Quit,
            0x02 => Self::InitDb,
            0x03 => Self::Query,
            0x04 => Self::FieldList,
            0x07 => Self::Refresh,
            0x08 => Self::Shutdown,
            0x09 => Self::Statistics,
            0x0a => Self::ProcessInfo,
            0x0c => Self::ProcessKill,
            0x0d => Self::Debug,
            0x0e => Self::Ping,
            0x11 => Self::ChangeUser,
            // Dumps by position, of a table, by GTID; a clone; a group's stream.
            0x12 | 0x13 | 0x1e | 0x20 | 0x21 => Self::BinlogDump,
            0x15 => Self::RegisterReplica,
            0x16 => Self::Prepare,
            0x17 => Self::Execute,
            0x18 => Self::LongData,
            0x19 => Self::Close,
            0x1a => Self::ResetStatement,
            0x1b => Self::SetOption,
            0x1c => Self::Fetch,
            0x1f => Self::ResetConnection,
            0xfa => Self::BulkExecute,
            other => Self::Unknown(other),
        }
    }

    pub fn expect(self) -> Expect {
        match self {
            Self::Quit | Self::LongData | Self::Close => Expect::Nothing,
            Self::Query | Self::ProcessInfo | Self::Execute | Self::BulkExecute => Expect::Results,
            Self::Prepare => Expect::Prepared,
            Self::Fetch => Expect::Rows,
            Self::FieldList => Expect::Fields,
            Self::Statistics => Expect::Text,
            Self::ChangeUser => Expect::Login,
            Self::BinlogDump => Expect::Stream,
            Self::InitDb
            | Self::Refresh
            | Self::Shutdown
            | Self::ProcessKill
            | Self::Debug
            | Self::Ping
            | Self::RegisterReplica
            | Self::ResetStatement
            | Self::SetOption
            | Self::ResetConnection
            | Self::Unknown(_) => Expect::Ok,
        }
    }
}
