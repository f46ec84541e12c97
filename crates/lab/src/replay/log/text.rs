//! Lines of a log, and statements that go over several of them.

use std::io::{self, BufRead, Read};

/// A line without its end.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// From 1.
    pub number: u64,
    pub text: &'a [u8],
    /// It is longer than what is kept.
    pub is_cut: bool,
}

/// Reads lines, of each at most `max` bytes.
pub struct Lines<'a> {
    input: &'a mut dyn BufRead,
    max: usize,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub fn new(input: &'a mut dyn BufRead, max: usize) -> Self {
        Self { input, max, line: Vec::new(), number: 0 }
    }

    /// `None` at the end.
    pub fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let length = Read::take(&mut *self.input, self.max as u64).read_until(b'\n', &mut self.line)?;
        let is_whole = self.line.ends_with(b"\n");
        if is_whole {
            self.line.pop();
        }
        let is_cut = !is_whole && length == self.max;
        if is_cut {
            self.input.skip_until(b'\n')?;
        }
        self.number += 1;
        let line = Line { number: self.number, text: &self.line, is_cut };
        Ok((length > 0).then_some(line))
    }
}

/// A statement, which grows by lines.
#[derive(Debug, Default)]
pub struct Text {
    pub bytes: Vec<u8>,
    pub is_too_long: bool,
    is_begun: bool,
    /// The last line ended by a semicolon.
    ends: bool,
    /// What is open at the end of the last line: a quote, or `*` for a comment.
    open: Option<u8>,
}

impl Text {
    pub fn is_empty(&self) -> bool {
        !self.is_begun
    }

    /// A string, a quoted name or a comment goes on in the next line. Of a text that is too long nobody knows.
    pub fn is_open(&self) -> bool {
        self.open.is_some() && !self.is_too_long
    }

    /// Whether a semicolon ends it, or may.
    pub fn is_whole(&self) -> bool {
        self.is_too_long || self.ends && !self.is_open()
    }

    pub fn add(&mut self, line: &Line<'_>, max: usize) {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        self.open = open_after(line.text, self.open);
        self.ends = line.text.trim_ascii_end().ends_with(b";");
        if line.is_cut || self.bytes.len() + line.text.len() >= max {
            (self.is_too_long, self.bytes) = (true, Vec::new());
        }
        if !self.is_too_long {
            if !is_first {
                self.bytes.push(b'\n');
            }
            self.bytes.extend_from_slice(line.text);
        }
    }

    /// Takes off the semicolon that the log has put behind it.
    pub fn strip(&mut self) {
        let text = self.bytes.trim_ascii_end();
        let length = text.strip_suffix(b";").unwrap_or(text).len();
        self.bytes.truncate(length);
    }
}

/// What is open behind a line that begins with `open`.
fn open_after(line: &[u8], mut open: Option<u8>) -> Option<u8> {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        let next = line.get(at + 1).copied();
        match (open, byte, next) {
            (Some(b'*'), b'*', Some(b'/')) => (open, at) = (None, at + 1),
            (Some(b'\'' | b'"'), b'\\', _) => at += 1,
            // A quote that is doubled closes and opens.
            (Some(quote), _, _) if quote == byte && quote != b'*' => open = None,
            (None, b'\'' | b'"' | b'`', _) => open = Some(byte),
            (None, b'/', Some(b'*')) => (open, at) = (Some(b'*'), at + 1),
            (None, b'#', _) => return None,
            (None, b'-', Some(b'-')) if line.get(at + 2).is_none_or(|byte| *byte <= b' ') => return None,
            _ => {}
        }
        at += 1;
    }
    open
}

/// The version in `/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:`.
pub fn version(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"started with:")?;
    let at = line.windows(11).position(|part| part == b", Version: ")?;
    Some(String::from_utf8_lossy(&line[at + 11..]).trim_end_matches([' ', '.']).to_owned())
}
