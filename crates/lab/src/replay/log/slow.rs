//! Entries of a slow log, as MariaDB, MySQL and Percona Server write them.

use super::text::{Line, Text, version};
use super::time::{self, Stamp};
use evenkeel_core::Nanos;

/// One entry. A server writes it when the answer has ended.
#[derive(Debug, Default)]
pub struct SlowEntry {
    /// Of its first line.
    pub line: u64,
    pub user: Vec<u8>,
    pub session: u64,
    pub database: Vec<u8>,
    pub time: Nanos,
    pub rows: Option<u64>,
    pub affected: Option<u64>,
    pub error: Option<u16>,
    pub text: Text,
    /// It has a time that cannot be read.
    pub is_undated: bool,
    /// Another one begins in the middle of its text.
    pub is_cut: bool,
    /// A procedure asked it, as Percona Server says: the CALL has an entry of its own.
    pub is_inner: bool,
    written: Option<Stamp>,
    asked: Option<Stamp>,
    started: Option<Stamp>,
    ended: Option<Stamp>,
}

impl SlowEntry {
    /// When it was asked and answered, nanoseconds since 1970, and whether that is known better than to the second.
    pub fn span(&self) -> Option<(u64, u64, bool)> {
        let took = self.time.0;
        let from = |stamp: Stamp| (stamp.at, stamp.at.saturating_add(took), stamp.is_fine);
        let until = |stamp: Stamp| (stamp.at.saturating_sub(took), stamp.at, stamp.is_fine);
        if let (Some(started), Some(ended)) = (self.started, self.ended) {
            return Some((started.at, ended.at, true));
        }
        let written = self.written.filter(|written| written.is_fine);
        // In whole seconds the start alone is in universal time.
        written.map(until).or_else(|| self.asked.map(from)).or_else(|| self.written.map(until))
    }

    /// A command other than a statement, as `Quit`.
    pub fn administrator_command(&self) -> Option<&[u8]> {
        self.text.statement().strip_prefix(b"# administrator command: ")
    }

    fn key(&mut self, key: &[u8], value: Option<&[u8]>) {
        let text = value.and_then(|value| std::str::from_utf8(value).ok());
        let number = || text.and_then(|text| text.parse::<u64>().ok());
        let seconds = || text.and_then(|text| text.parse::<f64>().ok()).filter(|seconds| *seconds >= 0.0);
        match key {
            b"User@Host" => {
                self.user = value
                    .and_then(|user| user.split(|byte| *byte == b'[').next())
                    .unwrap_or_default()
                    .to_vec();
            }
            b"Query_time" => {
                self.time = seconds().map_or(Nanos(0), |seconds| Nanos((seconds * 1e9).round() as u64))
            }
            b"Thread_id" | b"Id" => self.session = number().unwrap_or(self.session),
            b"Rows_sent" => self.rows = number(),
            b"Rows_affected" => self.affected = number(),
            b"Last_errno" | b"Errno" => {
                self.error = number().and_then(|code| u16::try_from(code).ok()).filter(|code| *code > 0);
            }
            // `# Stored routine: shop.p`
            b"routine" | b"Stored_routine" => self.is_inner = true,
            b"Start" => self.started = value.and_then(time::parse),
            b"End" => self.ended = value.and_then(time::parse),
            _ => {}
        }
    }
}

/// Puts lines together to entries.
#[derive(Debug)]
pub struct SlowLog {
    max: usize,
    entry: Option<SlowEntry>,
    in_text: bool,
    /// Where in the text of the entry another one may begin.
    mark: Option<usize>,
    /// Named where it changes, over all sessions.
    database: Vec<u8>,
}

impl SlowLog {
    /// Of each statement at most `max` bytes are kept.
    pub fn new(max: usize) -> Self {
        Self { max, entry: None, in_text: false, mark: None, database: Vec::new() }
    }

    /// Takes a line. The entry that it ends, if it does.
    pub fn line(&mut self, line: &Line<'_>) -> Option<SlowEntry> {
        let begins = begins(line.text);
        let is_whole = !self.in_text || self.entry.as_ref().is_none_or(|entry| entry.text.is_whole());
        // After a start the server writes three lines that no `#` begins.
        if is_whole && version(line.text).is_some() {
            return self.finish();
        }
        if begins && is_whole {
            let done = if self.in_text { self.finish() } else { None };
            self.head(line);
            return done;
        }
        if !self.in_text {
            if self.entry.is_some() {
                self.head(line);
            }
            return None;
        }
        self.text(line, begins)
    }

    /// The last entry.
    pub fn finish(&mut self) -> Option<SlowEntry> {
        (self.in_text, self.mark) = (false, None);
        let mut entry = self.entry.take().filter(|entry| !entry.text.is_empty())?;
        entry.database.clone_from(&self.database);
        entry.is_cut |= !entry.text.is_whole();
        Some(entry)
    }

    /// A line of a statement. Where a text is not closed, a header is one only when its second line follows.
    fn text(&mut self, line: &Line<'_>, begins: bool) -> Option<SlowEntry> {
        let entry = self.entry.as_mut()?;
        if line.text.starts_with(b"# Query_time: ")
            && let Some(mark) = self.mark
        {
            let head = entry.text.bytes.split_off(mark.min(entry.text.bytes.len()));
            entry.is_cut = true;
            let done = self.finish();
            for text in head.split(|byte| *byte == b'\n').filter(|text| !text.is_empty()) {
                self.head(&Line { text, ..*line });
            }
            self.head(line);
            return done;
        }
        if begins {
            self.mark.get_or_insert(entry.text.bytes.len());
        } else if !line.text.starts_with(b"#") {
            self.mark = None;
        }
        entry.text.add(line, self.max);
        None
    }

    /// A line before the statement.
    fn head(&mut self, line: &Line<'_>) {
        let entry = self.entry.get_or_insert_with(|| SlowEntry { line: line.number, ..SlowEntry::default() });
        let text = line.text;
        if let Some(written) = text.strip_prefix(b"# Time: ") {
            entry.written = time::parse(written);
            entry.is_undated = entry.written.is_none();
        } else if text.starts_with(b"#") && !text.starts_with(b"# administrator command: ") {
            let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
            while let Some(word) = words.next() {
                let Some(key) = word.strip_suffix(b":") else { continue };
                let value = words.next_if(|word| !word.ends_with(b":"));
                if key == b"Schema" {
                    self.database = value.unwrap_or_default().to_vec();
                }
                entry.key(key, value);
            }
        } else if let Some(name) = text.strip_prefix(b"use ").filter(|name| name.ends_with(b";")) {
            self.database = unquoted(&name[..name.len() - 1]);
        } else if let Some(stamp) = stamp(text) {
            (entry.asked, self.in_text) = (time::unix(stamp), true);
        } else {
            self.in_text = true;
            entry.text.add(line, self.max);
        }
    }
}

fn begins(line: &[u8]) -> bool {
    line.starts_with(b"# User@Host: ") || line.starts_with(b"# Time: ")
}

/// A name without its backticks.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let Some(inside) = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")) else {
        return name.to_vec();
    };
    String::from_utf8_lossy(inside).replace("``", "`").into_bytes()
}

/// The number in `SET last_insert_id=1,timestamp=1796083398;`.
fn stamp(line: &[u8]) -> Option<&[u8]> {
    let settings = line.strip_prefix(b"SET ")?.strip_suffix(b";")?;
    settings.split(|byte| *byte == b',').find_map(|setting| setting.strip_prefix(b"timestamp="))
}
