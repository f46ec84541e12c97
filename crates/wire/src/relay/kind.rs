//! The commands by name, and how each is answered.

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
