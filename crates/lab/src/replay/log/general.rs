//! Entries of a general log, as MariaDB and MySQL write it.

use super::text::{Line, Text, version};
use super::time::{self, Stamp};

/// What a line says that begins an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// Empty where it is that of the line before.
    time: &'a [u8],
    session: u64,
    command: &'static str,
    text: &'a [u8],
}

/// All that a server writes: a line with another word goes on with a statement.
const COMMANDS: &str = "Query,Execute,Prepare,Close stmt,Connect,Quit,Init DB,Field List,Create DB,Drop DB,Refresh,Shutdown,Statistics,\
    Processlist,Kill,Debug,Ping,Time,Delayed insert,Change user,Binlog Dump,Binlog Dump GTID,Table Dump,Connect Out,Register Slave,\
    Register Replica,Long Data,Reset stmt,Set option,Fetch,Daemon,Bulk_execute,Reset Connection,Reset connection";

/// One entry, written when the command came.
#[derive(Debug)]
pub struct GeneralEntry {
    /// Of its first line.
    pub line: u64,
    pub session: u64,
    pub at: Option<Stamp>,
    pub command: &'static str,
    pub text: Text,
    /// It has a time that cannot be read.
    pub is_undated: bool,
}

/// Puts lines together to entries.
#[derive(Debug)]
pub struct GeneralLog {
    max: usize,
    entry: Option<GeneralEntry>,
    /// MariaDB leaves out a time that is that of the entry before.
    at: Option<Stamp>,
    /// Lines before the first entry.
    pub strays: u64,
}

impl GeneralLog {
    /// Of each statement at most `max` bytes are kept.
    pub fn new(max: usize) -> Self {
        Self { max, entry: None, at: None, strays: 0 }
    }

    /// Takes a line. The entry that it ends, if it does. Inside of a string a line is an entry only where its session is known: a
    /// statement may hold lines of another log.
    pub fn line(&mut self, line: &Line<'_>, is_known: &dyn Fn(u64) -> bool) -> Option<GeneralEntry> {
        let is_open = self.entry.as_ref().is_some_and(|entry| entry.text.is_open());
        let counts = |head: &Head<'_>| !is_open || head.command == "Connect" || is_known(head.session);
        if let Some(head) = head(line.text).filter(counts) {
            return self.begin(line, &head);
        }
        if !is_open && version(line.text).is_some() {
            return self.finish();
        }
        match &mut self.entry {
            Some(entry) => entry.text.add(line, self.max),
            None => self.strays += u64::from(!is_frame(line.text)),
        }
        None
    }

    /// The last entry.
    pub fn finish(&mut self) -> Option<GeneralEntry> {
        self.entry.take()
    }

    fn begin(&mut self, line: &Line<'_>, head: &Head<'_>) -> Option<GeneralEntry> {
        let done = self.finish();
        let stamp = time::parse(head.time);
        self.at = stamp.or(self.at);
        let mut text = Text::default();
        text.add(&Line { text: head.text, ..*line }, self.max);
        let is_undated = stamp.is_none() && !head.time.is_empty();
        let Head { session, command, .. } = *head;
        self.entry =
            Some(GeneralEntry { line: line.number, session, at: self.at, command, text, is_undated });
        done
    }
}

/// The two lines that follow the version of a server that starts.
fn is_frame(line: &[u8]) -> bool {
    version(line).is_some()
        || line.starts_with(b"Tcp port: ")
        || line.starts_with(b"Time") && line.ends_with(b"Argument")
}

/// `261201  0:03:18<tab>     4 Query<tab>SELECT 1`; where the time is left out, two tabs begin the line.
pub fn head(line: &[u8]) -> Option<Head<'_>> {
    let (time, rest) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
    let dated = time.len() <= 40 && time.iter().any(u8::is_ascii_digit);
    if !(dated || time.is_empty() && rest.starts_with(b"\t\t")) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let (number, rest) = rest.split_at(rest.iter().position(|byte| *byte == b' ')?);
    let session = std::str::from_utf8(number).ok()?.parse().ok()?;
    let rest = &rest[1..];
    let end = rest.iter().position(|byte| *byte == b'\t').unwrap_or(rest.len());
    let command = COMMANDS.split(',').find(|command| command.as_bytes() == &rest[..end])?;
    Some(Head { time, session, command, text: rest.get(end + 1..).unwrap_or_default() })
}

/// User and database of `root@localhost on shop using Socket`; `None` where the login failed.
pub fn login(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b'@')?;
    let on = text.windows(4).position(|part| part == b" on ")?;
    if text.starts_with(b"Access denied ") {
        return None;
    }
    let database = &text[on + 4..];
    let end = database.windows(7).position(|part| part == b" using ").unwrap_or(database.len());
    Some((&text[..at], database[..end].trim_ascii()))
}
