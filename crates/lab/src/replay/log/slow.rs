//! Entries of a slow log, as MariaDB, MySQL and Percona Server write them: one when an answer has ended.

use super::entry::{Entry, Reader, Skipped, What};
use super::text::{Line, version};
use super::time::{self, Stamp};
use evenkeel_core::Nanos;

/// A command other than a statement, as `Quit`.
const ADMINISTRATOR: &[u8] = b"# administrator command: ";

/// An entry that is being read.
#[derive(Debug, Default)]
struct Reading {
    entry: Entry,
    in_text: bool,
    written: Option<Stamp>,
    asked: Option<Stamp>,
    /// Where MySQL's log has more: `# Time` of a CALL is not that of its end.
    started: Option<Stamp>,
    database: Option<Vec<u8>>,
}

/// Puts lines together to entries.
#[derive(Debug)]
pub struct SlowLog {
    max: usize,
    reading: Option<Reading>,
    /// What may be the header of another entry, in a text that is not closed.
    next: Option<Reading>,
    /// Named where it changes, over all sessions.
    database: Vec<u8>,
}

impl SlowLog {
    /// Of each statement at most `max` bytes are kept.
    pub fn new(max: usize) -> Self {
        Self { max, reading: None, next: None, database: Vec::new() }
    }

    fn done(&mut self, is_cut: bool) -> Option<Entry> {
        let Reading { mut entry, written, asked, started, database, .. } = self.reading.take()?;
        self.database = database.unwrap_or_else(|| std::mem::take(&mut self.database));
        entry.database.clone_from(&self.database);
        let until = |stamp: Stamp| stamp.at.saturating_sub(entry.took.unwrap_or_default().0);
        // In whole seconds the start alone is in universal time.
        let fine = written.filter(|written| written.is_fine).map(until);
        let started = started.map(|started| started.at);
        entry.start = started.or(fine).or(asked.map(|asked| asked.at)).or(written.map(until));
        entry.text.strip();
        if let Some(command) = entry.text.bytes.strip_prefix(ADMINISTRATOR) {
            entry.what = match What::of(command) {
                // Of which database, it does not say; the next entry does.
                What::Statement | What::Connect | What::Use => What::Left(Skipped::NoStatement),
                what => what,
            };
        } else if is_cut || !entry.text.is_whole() {
            entry.what = What::Left(Skipped::Cut);
        }
        Some(entry).filter(|entry| !entry.text.is_empty())
    }
}

impl Reader for SlowLog {
    fn line(&mut self, line: &Line<'_>, _: &dyn Fn(u64) -> bool) -> Option<Entry> {
        let begins = line.text.starts_with(b"# User@Host: ") || line.text.starts_with(b"# Time: ");
        let in_text = self.reading.as_ref().is_some_and(|reading| reading.in_text);
        let is_open = in_text && self.reading.as_ref().is_some_and(|reading| !reading.entry.text.is_whole());
        // After a start the server writes three lines that no `#` begins.
        if !is_open && version(line.text).is_some() {
            return self.finish();
        }
        if begins && !is_open {
            let done = if in_text { self.finish() } else { None };
            self.reading.get_or_insert_with(|| Reading::at(line)).head(line, self.max);
            return done;
        }
        if is_open {
            // In a text that is not closed a header is one only where its next line follows.
            self.next = self.next.take().or_else(|| begins.then(|| Reading::at(line)));
            self.next = self.next.take().filter(|_| line.text.starts_with(b"#"));
            if let Some(next) = &mut self.next {
                next.head(line, self.max);
                if line.text.starts_with(b"# Query_time: ") {
                    let done = self.done(true);
                    self.reading = self.next.take();
                    return done;
                }
            }
        }
        self.reading.as_mut()?.head(line, self.max);
        None
    }

    fn finish(&mut self) -> Option<Entry> {
        self.next = None;
        self.done(false)
    }
}

impl Reading {
    fn at(line: &Line<'_>) -> Self {
        Self { entry: Entry { line: line.number, ..Entry::default() }, ..Self::default() }
    }

    /// A line of the header, or of the statement behind it.
    fn head(&mut self, line: &Line<'_>, max: usize) {
        let text = line.text;
        if self.in_text {
            self.entry.text.add(line, max);
        } else if let Some(written) = text.strip_prefix(b"# Time: ") {
            self.written = time::parse(written);
            self.entry.is_undated = self.written.is_none();
        } else if text.starts_with(b"#") && !text.starts_with(ADMINISTRATOR) {
            let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
            while let Some(word) = words.next() {
                let Some(key) = word.strip_suffix(b":") else { continue };
                self.key(key, words.next_if(|word| !word.ends_with(b":")).unwrap_or_default());
            }
        } else if let Some(name) = text.strip_prefix(b"use ").and_then(|name| name.strip_suffix(b";")) {
            self.database = Some(unquoted(name));
        } else if let Some(stamp) = stamp(text) {
            (self.asked, self.in_text) = (time::unix(stamp), true);
        } else {
            self.in_text = true;
            self.entry.text.add(line, max);
        }
    }

    fn key(&mut self, key: &[u8], value: &[u8]) {
        let text = std::str::from_utf8(value).unwrap_or_default();
        let (number, answer) = (text.parse::<u64>().ok(), &mut self.entry.answer);
        match key {
            b"User@Host" => {
                self.entry.user = value.split(|byte| *byte == b'[').next().unwrap_or_default().to_vec();
            }
            b"Query_time" => {
                let seconds = text.parse::<f64>().unwrap_or_default().max(0.0);
                self.entry.took = Some(Nanos((seconds * 1e9).round() as u64));
            }
            b"Thread_id" | b"Id" => self.entry.session = number.unwrap_or(self.entry.session),
            b"Start" => self.started = time::parse(value),
            b"Schema" => self.database = Some(value.to_vec()),
            b"Rows_sent" => answer.rows = number,
            b"Rows_affected" => answer.affected = number,
            b"Last_errno" | b"Errno" => {
                answer.error = text.parse().ok().filter(|code| *code > 0);
            }
            // `# Stored routine: shop.p`
            b"routine" | b"Stored_routine" => self.entry.what = What::Left(Skipped::Inner),
            _ => {}
        }
    }
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
