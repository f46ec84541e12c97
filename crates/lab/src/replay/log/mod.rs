//! What servers and people write down of what was asked: slow logs, general logs, SQL with times.

mod entry;
mod general;
mod plain;
mod slow;
mod text;
mod time;

pub use entry::{Entry, Reader, Skipped, What};
use evenkeel_wire::capture::COMMAND_MAX;
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
