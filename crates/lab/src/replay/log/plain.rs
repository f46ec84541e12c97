//! SQL as text, with a line before a statement that says when, or without.

use super::entry::{Entry, Reader, Skipped, What};
use super::text::{Line, Text};
use super::time::{self, Stamp};
use evenkeel_wire::capture::COMMAND_MAX;

/// Statements, each of which ends by a semicolon at the end of a line.
#[derive(Debug, Default)]
pub struct PlainLog {
    line: u64,
    session: u64,
    /// Of the last line that had one.
    at: Option<u64>,
    /// Without times only the order counts.
    statements: u64,
    text: Text,
    /// Between two DELIMITER lines, which a client alone understands.
    in_block: bool,
}

impl Reader for PlainLog {
    fn line(&mut self, line: &Line<'_>, _: &dyn Fn(u64) -> bool) -> Option<Entry> {
        let dated = dated(line.text).filter(|_| !self.text.is_open() && !self.in_block);
        if let Some((stamp, session)) = dated {
            let done = self.finish();
            (self.at, self.session) = (Some(stamp.at), session);
            return done;
        }
        let delimiter = delimiter(line.text);
        if self.text.is_empty() {
            let is_comment = line.text.starts_with(b"-- ") || line.text.starts_with(b"#");
            if is_comment || delimiter == Some(b";") || line.text.trim_ascii().is_empty() {
                return None;
            }
            (self.line, self.in_block) = (line.number, delimiter.is_some());
        }
        self.text.add(line, COMMAND_MAX);
        let ends = if self.in_block { delimiter == Some(b";") } else { self.text.is_whole() };
        if ends { self.finish() } else { None }
    }

    /// The last statement may have no end.
    fn finish(&mut self) -> Option<Entry> {
        let (mut text, in_block) = (std::mem::take(&mut self.text), std::mem::take(&mut self.in_block));
        let what = match () {
            () if in_block => What::Left(Skipped::NotRepeatable),
            () if !text.is_whole() => What::Left(Skipped::Cut),
            () => What::Statement,
        };
        self.statements += 1;
        text.strip();
        let start = self.at.or(Some(self.statements));
        let (line, session) = (self.line, self.session.max(1));
        (!text.is_empty()).then(|| Entry { line, session, what, text, start, ..Entry::default() })
    }
}

/// `DELIMITER //`: what is to end the statements that follow.
fn delimiter(line: &[u8]) -> Option<&[u8]> {
    let (word, sign) = line.split_at_checked(10)?;
    word.eq_ignore_ascii_case(b"delimiter ").then(|| sign.trim_ascii())
}

/// `-- 2026-11-30 10:00:00.5 session=7`, or with `#`; without a session it is the first.
pub fn dated(line: &[u8]) -> Option<(Stamp, u64)> {
    let text = line.strip_prefix(b"-- ").or_else(|| line.strip_prefix(b"# "))?;
    let text = std::str::from_utf8(text).ok()?;
    let (date, session) = text.split_once(" session=").unwrap_or((text, "1"));
    Some((time::parse(date.as_bytes())?, session.trim().parse().ok()?))
}
