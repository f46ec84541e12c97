//! What servers and people write down of what was asked: slow logs, general logs, SQL with times.

mod general;
mod plain;
mod slow;
mod text;
mod time;

pub use general::{GeneralEntry, GeneralLog, login};
pub use plain::{PlainEntry, PlainLog};
pub use slow::{SlowEntry, SlowLog};
use text::version;
pub use text::{Line, Lines, Text};

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    GeneralLog,
    SlowLog,
    /// Statements as text.
    Sql,
}

/// How exactly a log says when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Times {
    None,
    Seconds,
    Microseconds,
}

/// What the beginning of a log says of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Recognised {
    pub source: Source,
    pub times: Times,
    /// Of the server, where the log names it.
    pub version: Option<String>,
    /// It says which statements failed.
    pub has_errors: bool,
}

/// What kind of log begins like this; `None` where it is none.
pub fn recognise(head: &[u8]) -> Option<Recognised> {
    let lines = || head.split(|byte| *byte == b'\n');
    let known = |times: Option<time::Stamp>| match times {
        None => Times::None,
        Some(stamp) if stamp.is_fine => Times::Microseconds,
        Some(_) => Times::Seconds,
    };
    let found = |source, times| Recognised {
        source,
        times,
        version: lines().find_map(version),
        has_errors: source == Source::SlowLog
            && lines().any(|line| line.windows(6).any(|word| word == b"errno:" || word == b"Errno:")),
    };
    let is_slow = |line: &[u8]| line.starts_with(b"# User@Host: ") || line.starts_with(b"# Query_time: ");
    let first = lines().find(|line| is_slow(line) || general::head(line).is_some());
    match first {
        Some(line) if is_slow(line) => {
            let time = lines().filter_map(|line| line.strip_prefix(b"# Time: ")).find_map(time::parse);
            Some(found(Source::SlowLog, if time.is_some() { known(time) } else { Times::Seconds }))
        }
        Some(_) => {
            let time = lines().find_map(|line| time::parse(line.split(|byte| *byte == b'\t').next()?));
            Some(found(Source::GeneralLog, known(time)))
        }
        None if is_text(head) && lines().any(|line| line.trim_ascii_end().ends_with(b";")) => {
            let time = lines().find_map(plain::dated).map(|(time, _)| time);
            // People write fractions now and then: one date in whole seconds says little.
            let fine = lines().filter_map(plain::dated).map(|(time, _)| time).find(|time| time.is_fine);
            Some(found(Source::Sql, known(fine.or(time))))
        }
        None => None,
    }
}

/// Whether it begins as a statement or a comment does.
fn is_text(head: &[u8]) -> bool {
    head.trim_ascii_start().first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"-#/(".contains(byte))
}
