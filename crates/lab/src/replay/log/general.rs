//! Entries of a general log, as MariaDB and MySQL write it: one when a command comes.

use super::entry::{Entry, Reader, Skipped, What};
use super::text::{Line, version};
use super::time;
use evenkeel_wire::capture::COMMAND_MAX;

/// What a line says that begins an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// Empty where it is that of the line before.
    time: &'a [u8],
    session: u64,
    command: &'a [u8],
    text: &'a [u8],
}

/// All that a server writes: a line with another word goes on with a statement.
const COMMANDS: &str = "Query,Execute,Prepare,Close stmt,Connect,Quit,Init DB,Field List,Create DB,Drop DB,Refresh,Shutdown,Statistics,\
    Processlist,Kill,Debug,Ping,Time,Delayed insert,Change user,Binlog Dump,Binlog Dump GTID,Table Dump,Connect Out,Register Slave,\
    Register Replica,Long Data,Reset stmt,Set option,Fetch,Daemon,Bulk_execute,Reset Connection,Reset connection";

#[derive(Debug, Default)]
pub struct GeneralLog {
    entry: Option<Entry>,
}

impl Reader for GeneralLog {
    /// Inside of a string a line is an entry only where its session is known: a statement may hold lines of another log.
    fn line(&mut self, line: &Line<'_>, is_known: &dyn Fn(u64) -> bool) -> Option<Entry> {
        let is_open = self.entry.as_ref().is_some_and(|entry| entry.text.is_open());
        let counts = |head: &Head<'_>| !is_open || head.command == b"Connect" || is_known(head.session);
        if let Some(Head { time, session, command, text }) = head(line.text).filter(counts) {
            let done = self.finish();
            let start = time::parse(time).map(|stamp| stamp.at);
            let is_undated = start.is_none() && !time.is_empty();
            let (what, line_number) = (What::of(command), line.number);
            let entry = Entry { line: line_number, session, what, start, is_undated, ..Entry::default() };
            self.entry.insert(entry).text.add(&Line { text, ..*line }, COMMAND_MAX);
            return done;
        }
        if !is_open && is_frame(line.text) {
            return self.finish();
        }
        // A log that was cut in two begins inside of an entry, whose quotes say nothing.
        let cut = || Entry { line: line.number, what: What::Left(Skipped::Cut), ..Entry::default() };
        let entry = self.entry.get_or_insert_with(cut);
        if entry.what != What::Left(Skipped::Cut) {
            entry.text.add(line, COMMAND_MAX);
        }
        None
    }

    fn finish(&mut self) -> Option<Entry> {
        let mut entry = self.entry.take()?;
        match (entry.what, login(&entry.text.bytes)) {
            (What::Statement, _) if entry.text.is_open() => entry.what = What::Left(Skipped::Cut),
            (What::Connect, Some((user, database))) => {
                (entry.user, entry.database) = (user.to_vec(), database.to_vec());
            }
            // The login failed.
            (What::Connect, None) => entry.what = What::Quit,
            _ => {}
        }
        Some(entry)
    }
}

/// The three lines that a server writes when it starts.
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
    let mut parts = rest[1..].splitn(2, |byte| *byte == b'\t');
    let (command, text) = (parts.next()?, parts.next().unwrap_or_default());
    let is_known = COMMANDS.split(',').any(|known| known.as_bytes() == command);
    is_known.then_some(Head { time, session, command, text })
}

/// User and database of `root@localhost on shop using Socket`; `None` where the login failed.
fn login(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b'@')?;
    let on = text.windows(4).position(|part| part == b" on ")?;
    if text.starts_with(b"Access denied ") {
        return None;
    }
    let database = &text[on + 4..];
    let end = database.windows(7).position(|part| part == b" using ").unwrap_or(database.len());
    Some((&text[..at], database[..end].trim_ascii()))
}
