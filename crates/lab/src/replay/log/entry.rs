//! One entry of a log of any kind, and how lines become entries.

use super::text::{Line, Text};
use evenkeel_core::Nanos;
use evenkeel_wire::capture::Answer;
use serde::Serialize;

/// What a capture of a log lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skipped {
    /// Longer than 64 MB.
    TooLong,
    /// The log begins or ends inside of it, or another entry begins there.
    Cut,
    /// PREPARE and EXECUTE as SQL, and preparations: what they run has an entry of its own.
    Prepared,
    /// What a procedure asked, as Percona Server says: its CALL has an entry of its own.
    Inner,
    /// Another user's login, a stream of changes, a bulk insert, what a client alone understands.
    NotRepeatable,
    /// Commands that ask nothing of a table, as Ping and Statistics.
    NoStatement,
    /// A date that cannot be read: the entry counts, with the time of the one before.
    Undated,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    #[default]
    Statement,
    Connect,
    Quit,
    Use,
    ResetConnection,
    Left(Skipped),
}

impl What {
    /// By the name of a command, as logs have it.
    pub(super) fn of(command: &[u8]) -> Self {
        match command {
            b"Query" | b"Execute" => Self::Statement,
            b"Connect" => Self::Connect,
            b"Quit" => Self::Quit,
            b"Init DB" => Self::Use,
            b"Reset Connection" | b"Reset connection" => Self::ResetConnection,
            b"Prepare" | b"Close stmt" => Self::Left(Skipped::Prepared),
            b"Change user" | b"Binlog Dump" | b"Binlog Dump GTID" | b"Table Dump" | b"Bulk_execute" => {
                Self::Left(Skipped::NotRepeatable)
            }
            _ => Self::Left(Skipped::NoStatement),
        }
    }
}

/// One entry of a log of any kind.
#[derive(Debug, Default)]
pub struct Entry {
    /// Of its first line.
    pub line: u64,
    pub session: u64,
    pub what: What,
    pub text: Text,
    /// When it was asked, nanoseconds since 1970; `None` where that is the time of the entry before.
    pub start: Option<u64>,
    pub took: Option<Nanos>,
    /// It has a time that cannot be read.
    pub is_undated: bool,
    /// Empty where the entry names none.
    pub user: Vec<u8>,
    pub database: Vec<u8>,
    pub answer: Answer,
}

/// Puts lines together to entries. Of each statement at most `COMMAND_MAX` bytes are kept.
pub trait Reader {
    /// Takes a line. The entry that it ends, if it does. `is_known` says whether a session has begun.
    fn line(&mut self, line: &Line<'_>, is_known: &dyn Fn(u64) -> bool) -> Option<Entry>;

    /// The last entry.
    fn finish(&mut self) -> Option<Entry>;
}
