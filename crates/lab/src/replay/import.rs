//! Logs as captures: what a log says becomes the records that a guard would have written.

use super::log::{Entry, Lines, Recognised, Skipped, Source, What, reader, recognise};
use evenkeel_os::Stop;
use evenkeel_wire::capture::{Answer, Asked, COMMAND_MAX, MAGIC, Opened, Record};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read, Write};

/// As much of a log is read to know its kind.
const HEAD_BYTES: u64 = 1 << 20;
/// Most sessions that are remembered. Many logs do not say when a session ends.
const SESSIONS_MAX: usize = 1 << 20;
/// Longest name of a user or a database.
const NAME_MAX: usize = 512;
/// Commands by their number in the protocol.
const INIT_DB: u8 = 2;
const QUERY: u8 = 3;
const RESET_CONNECTION: u8 = 31;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read the log, or write its capture: {0}")]
    Io(#[from] io::Error),
    #[error("it is no general log, no slow log and no SQL whose statements end by a semicolon")]
    NoLog,
    #[error("it is compressed by gzip")]
    Compressed,
}

/// What became of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    pub log: Recognised,
    pub commands: u64,
    /// How many entries, and the line of the first of them.
    pub skipped: BTreeMap<Skipped, (u64, u64)>,
}

/// Writes the capture of a log, of whichever kind; where it is stopped, of its beginning. The memory that it takes is bounded, whatever the log has.
pub fn import(input: &mut dyn BufRead, out: &mut dyn Write, stop: &Stop) -> Result<Summary, ImportError> {
    let mut head = Vec::new();
    Read::take(&mut *input, HEAD_BYTES).read_to_end(&mut head)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        return Err(ImportError::Compressed);
    }
    let log = recognise(&head).ok_or(ImportError::NoLog)?;
    let mut input = head.as_slice().chain(input);
    let (mut lines, mut reader) = (Lines::new(&mut input, COMMAND_MAX), reader(log.source));
    let mut import = Import::new(out, log)?;
    while let Some(line) = lines.read()? {
        if stop.is_set() {
            break;
        }
        if let Some(entry) = reader.line(&line, &|session| import.sessions.contains_key(&session)) {
            import.take(&entry)?;
        }
    }
    if let Some(entry) = reader.finish() {
        import.take(&entry)?;
    }
    import.out.flush()?;
    Ok(import.summary)
}

#[derive(Debug, Default)]
struct Known {
    user: Vec<u8>,
    database: Vec<u8>,
    connected: u64,
    is_late: bool,
    /// A session is written when it asks something.
    is_written: bool,
}

struct Import<'a> {
    out: &'a mut dyn Write,
    sessions: HashMap<u64, Known>,
    summary: Summary,
    /// The last time that was known.
    time: u64,
    record: Vec<u8>,
    command: Vec<u8>,
}

impl<'a> Import<'a> {
    fn new(out: &'a mut dyn Write, log: Recognised) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        writeln!(out, "{}", serde_json::to_string(&log)?)?;
        let summary = Summary { log, commands: 0, skipped: BTreeMap::new() };
        let (record, command) = Default::default();
        Ok(Self { out, sessions: HashMap::new(), summary, time: 0, record, command })
    }

    fn take(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.is_undated {
            self.skip(Skipped::Undated, entry.line);
        }
        self.time = entry.start.unwrap_or(self.time);
        let text = entry.text.bytes.as_slice();
        match entry.what {
            What::Left(why) => self.skip(why, entry.line),
            What::Connect => {
                self.quit(entry.session)?;
                self.remember(entry, false);
            }
            What::Quit => self.quit(entry.session)?,
            What::Use => self.use_database(entry, text)?,
            What::ResetConnection => self.ask(entry, RESET_CONNECTION, b"")?,
            What::Statement if entry.text.is_too_long => self.skip(Skipped::TooLong, entry.line),
            What::Statement if loads_local(text) => self.skip(Skipped::NotRepeatable, entry.line),
            What::Statement if sql_prepares(text) => self.skip(Skipped::Prepared, entry.line),
            What::Statement => {
                let known = self.sessions.get(&entry.session);
                if !entry.database.is_empty() && known.is_some_and(|known| known.database != entry.database) {
                    self.use_database(entry, &entry.database)?;
                }
                self.ask(entry, QUERY, text)?;
            }
        }
        Ok(())
    }

    fn skip(&mut self, why: Skipped, line: u64) {
        self.summary.skipped.entry(why).or_insert((0, line)).0 += 1;
    }

    fn quit(&mut self, session: u64) -> io::Result<()> {
        match self.sessions.remove(&session) {
            Some(known) if known.is_written => self.write(&Record::Closed { session, at: self.time }),
            _ => Ok(()),
        }
    }

    fn use_database(&mut self, entry: &Entry, database: &[u8]) -> io::Result<()> {
        self.ask(entry, INIT_DB, database)?;
        if let Some(known) = self.sessions.get_mut(&entry.session) {
            known.database = name(database);
        }
        Ok(())
    }

    fn remember(&mut self, entry: &Entry, is_late: bool) {
        if self.sessions.len() >= SESSIONS_MAX {
            // Those that still ask are found again, as sessions that had begun before.
            self.sessions.clear();
        }
        let (user, database, connected) = (name(&entry.user), name(&entry.database), self.time);
        let known = Known { user, database, connected, is_late, is_written: false };
        self.sessions.insert(entry.session, known);
    }

    fn ask(&mut self, entry: &Entry, number: u8, text: &[u8]) -> io::Result<()> {
        let (session, start) = (entry.session, self.time);
        if !self.sessions.contains_key(&session) {
            self.remember(entry, self.summary.log.source != Source::Sql);
        }
        self.record.clear();
        if let Some(known) = self.sessions.get_mut(&session).filter(|known| !known.is_written) {
            known.is_written = true;
            let Known { user, database, connected: at, is_late, .. } = &*known;
            Record::Opened(Opened { session, at: *at, user, database, is_late: *is_late })
                .write(&mut self.record);
        }
        // Only the statement has been answered so.
        let is_query = number == QUERY;
        let end = entry.took.filter(|_| is_query).map(|took| start.saturating_add(took.0));
        let answer = if is_query { self.known(entry.answer) } else { Answer::default() };
        self.command.clear();
        self.command.push(number);
        self.command.extend_from_slice(text);
        let command = &self.command;
        Record::Asked(Asked { session, start, end, command, answer }).write(&mut self.record);
        self.summary.commands += 1;
        self.out.write_all(&self.record)
    }

    /// Slow logs that do not say what failed have 0 rows of it, which is then no answer that is known.
    fn known(&self, answer: Answer) -> Answer {
        let Recognised { source, has_errors, .. } = self.summary.log;
        let is_empty = answer.rows == Some(0) && answer.affected.unwrap_or(0) == 0;
        if source == Source::SlowLog && !has_errors && is_empty { Answer::default() } else { answer }
    }

    fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.record.clear();
        record.write(&mut self.record);
        self.out.write_all(&self.record)
    }
}

fn name(name: &[u8]) -> Vec<u8> {
    name.get(..NAME_MAX).unwrap_or(name).to_vec()
}

/// LOAD DATA LOCAL: the client's file is not in the log.
fn loads_local(text: &[u8]) -> bool {
    let words = text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<Vec<u8>> = words.map(<[u8]>::to_ascii_uppercase).take(5).collect();
    words.first().is_some_and(|word| word == b"LOAD") && words.iter().any(|word| word == b"LOCAL")
}

/// `PREPARE s FROM`, `EXECUTE s`, `EXECUTE IMMEDIATE`, `DEALLOCATE PREPARE s`, `DROP PREPARE s`: servers write what is executed beside
/// them, with its values, and some hide the text that is prepared.
fn sql_prepares(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::to_ascii_lowercase);
    match words.next().as_deref() {
        Some(b"prepare" | b"execute") => true,
        Some(b"deallocate" | b"drop") => words.find(|word| !word.is_empty()).as_deref() == Some(b"prepare"),
        _ => false,
    }
}
