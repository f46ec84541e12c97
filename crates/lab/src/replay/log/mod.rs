//! What servers and people write down of what was asked: slow logs, general logs, SQL with times.

mod general;
mod plain;
mod slow;
mod text;
mod time;

use evenkeel_core::Nanos;
use evenkeel_wire::capture::{Answer, COMMAND_MAX};
use serde::Serialize;
pub use slow::SlowLog;
use text::version;
pub use text::{Line, Lines, Text};

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    GeneralLog,
    SlowLog,
    /// Statements as text.
    Sql,
}

/// How exactly a log says when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Times {
    None,
    Seconds,
    Microseconds,
}

/// What the beginning of a log says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recognised {
    pub source: Source,
    pub times: Times,
    /// Of the server, where the log names it.
    pub version: Option<String>,
    /// It says which statements failed.
    pub has_errors: bool,
}

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
    fn of(command: &[u8]) -> Self {
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

pub fn reader(source: Source) -> Box<dyn Reader> {
    match source {
        Source::GeneralLog => Box::new(general::GeneralLog::default()),
        Source::SlowLog => Box::new(SlowLog::new(COMMAND_MAX)),
        Source::Sql => Box::new(plain::PlainLog::default()),
    }
}

/// What kind of log begins like this; `None` where it is none.
pub fn recognise(head: &[u8]) -> Option<Recognised> {
    let lines = || head.split(|byte| *byte == b'\n');
    let is_slow = |line: &[u8]| line.starts_with(b"# User@Host: ") || line.starts_with(b"# Query_time: ");
    let first = lines().find(|line| is_slow(line) || general::head(line).is_some());
    let source = match first {
        Some(line) if is_slow(line) => Source::SlowLog,
        Some(_) => Source::GeneralLog,
        None if is_text(head) && lines().any(|line| line.trim_ascii_end().ends_with(b";")) => Source::Sql,
        None => return None,
    };
    let date = |line: &[u8]| match source {
        Source::SlowLog => time::parse(line.strip_prefix(b"# Time: ")?),
        Source::GeneralLog => time::parse(line.split(|byte| *byte == b'\t').next()?),
        Source::Sql => plain::dated(line).map(|(time, _)| time),
    };
    // People write fractions now and then: one date in whole seconds says little.
    let mut dates = lines().filter_map(date).map(|time| time.is_fine);
    let times = match dates.next() {
        Some(is_fine) if is_fine || source == Source::Sql && dates.any(|is_fine| is_fine) => {
            Times::Microseconds
        }
        None if source != Source::SlowLog => Times::None,
        _ => Times::Seconds,
    };
    let has_errors = source == Source::SlowLog
        && lines().any(|line| line.windows(6).any(|word| word.eq_ignore_ascii_case(b"errno:")));
    Some(Recognised { source, times, version: lines().find_map(version), has_errors })
}

/// Whether it begins as a statement or a comment does.
fn is_text(head: &[u8]) -> bool {
    head.trim_ascii_start().first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"-#/(".contains(byte))
}
