//! SQL as text, with a line before a statement that says when, or without.

use super::text::{Line, Text};
use super::time::{self, Stamp};

#[derive(Debug)]
pub struct PlainEntry {
    /// Of its first line.
    pub line: u64,
    pub session: u64,
    /// That of the last line that had one.
    pub at: Option<Stamp>,
    pub text: Text,
    /// Statements between two lines that change how statements end: no server takes such a line.
    pub is_of_client: bool,
}

/// Puts lines together to statements, each of which ends by a semicolon at the end of a line.
#[derive(Debug)]
pub struct PlainLog {
    max: usize,
    line: u64,
    session: u64,
    at: Option<Stamp>,
    text: Text,
    in_block: bool,
}

impl PlainLog {
    /// Of each statement at most `max` bytes are kept.
    pub fn new(max: usize) -> Self {
        Self { max, line: 0, session: 1, at: None, text: Text::default(), in_block: false }
    }

    /// Takes a line. The statement that it ends, if it does.
    pub fn line(&mut self, line: &Line<'_>) -> Option<PlainEntry> {
        let delimiter = delimiter(line.text).filter(|_| self.in_block || self.text.is_empty());
        if self.in_block {
            self.text.add(line, self.max);
            return if delimiter == Some(b";") { self.finish() } else { None };
        }
        if !self.text.is_open()
            && let Some((at, session)) = dated(line.text)
        {
            let done = self.finish();
            (self.at, self.session) = (Some(at), session.unwrap_or(1));
            return done;
        }
        if self.text.is_empty() {
            if delimiter == Some(b";")
                || line.text.trim_ascii().is_empty()
                || line.text.starts_with(b"-- ")
                || line.text.starts_with(b"#")
            {
                return None;
            }
            self.line = line.number;
            self.in_block = delimiter.is_some_and(|delimiter| delimiter != b";");
        }
        self.text.add(line, self.max);
        if !self.in_block && self.text.is_whole() { self.finish() } else { None }
    }

    /// The last statement, which may have no end.
    pub fn finish(&mut self) -> Option<PlainEntry> {
        let (text, is_of_client) = (std::mem::take(&mut self.text), std::mem::take(&mut self.in_block));
        (!text.is_empty()).then_some(PlainEntry {
            line: self.line,
            session: self.session,
            at: self.at,
            text,
            is_of_client,
        })
    }
}

/// `DELIMITER //`: what is to end the statements that follow.
fn delimiter(line: &[u8]) -> Option<&[u8]> {
    let (word, sign) = line.split_at_checked(10)?;
    word.eq_ignore_ascii_case(b"delimiter ").then(|| sign.trim_ascii())
}

/// `-- 2026-11-30 10:00:00.5 session=7`, or with `#`.
pub fn dated(line: &[u8]) -> Option<(Stamp, Option<u64>)> {
    let text = line.strip_prefix(b"-- ").or_else(|| line.strip_prefix(b"# "))?;
    let text = std::str::from_utf8(text).ok()?;
    let (date, session) =
        text.split_once(" session=").map_or((text, None), |(date, number)| (date, Some(number)));
    let session = match session {
        Some(number) => Some(number.trim().parse().ok()?),
        None => None,
    };
    Some((time::parse(date.as_bytes())?, session))
}
