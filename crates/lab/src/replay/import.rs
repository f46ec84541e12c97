//! Logs as captures: what a log says becomes the records that a guard would have written.

use super::log::{
    GeneralEntry, GeneralLog, Line, Lines, PlainEntry, PlainLog, Recognised, SlowEntry, SlowLog, Source,
    login, recognise,
};
use super::sink::{QUERY, RESET_CONNECTION, Sink};
use evenkeel_os::Stop;
use evenkeel_wire::capture::{Answer, COMMAND_MAX, Why};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

/// As much of a log is read to know its kind.
const HEAD_BYTES: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read the log: {0}")]
    Read(io::Error),
    #[error("cannot write the capture: {0}")]
    Write(io::Error),
    #[error("it is no general log, no slow log and no SQL whose statements end by a semicolon")]
    NoLog,
    #[error("it is compressed by gzip")]
    Compressed,
}

/// Why an entry of a log is not in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skipped {
    /// Longer than 64 MB.
    TooLong,
    /// The log ends inside of it, or another entry begins there.
    Cut,
    /// The server wrote <secret> in the place of a password.
    Secret,
    /// PREPARE and EXECUTE as SQL, and preparations: what they run has an entry of its own.
    Prepared,
    /// What a procedure asked: its CALL has an entry of its own.
    Inner,
    /// Another user's login, a stream of changes, a bulk insert.
    NotRepeatable,
    /// Commands that ask nothing of a table, as Ping and Statistics.
    NoStatement,
    /// Lines before the first entry.
    NoEntry,
    /// Statements between two DELIMITER lines of a client.
    OfClient,
}

/// What became of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    pub log: Recognised,
    pub commands: u64,
    /// How many entries are left out, and the line of the first of them.
    pub skipped: BTreeMap<Skipped, (u64, u64)>,
    /// Dates that cannot be read, and the line of the first: the last one that could counts on.
    pub undated: Option<(u64, u64)>,
    pub is_stopped: bool,
}

impl Summary {
    fn skip(&mut self, why: Skipped, line: u64, count: u64) {
        if count > 0 {
            self.skipped.entry(why).or_insert((0, line)).0 += count;
        }
    }

    fn undated(&mut self, line: u64) {
        self.undated.get_or_insert((0, line)).0 += 1;
    }
}

/// Writes the capture of a log, of whichever kind. The memory that it takes is bounded, whatever the log has.
pub fn import(input: &mut dyn BufRead, out: &mut dyn Write, stop: &Stop) -> Result<Summary, ImportError> {
    let mut head = Vec::new();
    Read::take(&mut *input, HEAD_BYTES).read_to_end(&mut head).map_err(ImportError::Read)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        return Err(ImportError::Compressed);
    }
    let log = recognise(&head).ok_or(ImportError::NoLog)?;
    let mut input = head.as_slice().chain(input);
    let mut lines = Lines::new(&mut input, COMMAND_MAX);
    let sink = Sink::new(out, &log).map_err(ImportError::Write)?;
    let source = log.source;
    let summary = Summary { log, commands: 0, skipped: BTreeMap::new(), undated: None, is_stopped: false };
    let mut import = Import { sink, summary, coarse: 0 };
    let mut reader = LogReader::new(source);
    while let Some(line) = lines.read().map_err(ImportError::Read)? {
        if stop.is_set() {
            import.summary.is_stopped = true;
            break;
        }
        reader.take(Some(&line), &mut import).map_err(ImportError::Write)?;
    }
    reader.take(None, &mut import).map_err(ImportError::Write)?;
    import.sink.flush().map_err(ImportError::Write)?;
    import.summary.commands = import.sink.commands;
    Ok(import.summary)
}

enum LogReader {
    General(GeneralLog),
    Slow(SlowLog),
    Sql(PlainLog),
}

impl LogReader {
    fn new(source: Source) -> Self {
        match source {
            Source::GeneralLog => Self::General(GeneralLog::new(COMMAND_MAX)),
            Source::SlowLog => Self::Slow(SlowLog::new(COMMAND_MAX)),
            Source::Sql => Self::Sql(PlainLog::new(COMMAND_MAX)),
        }
    }

    /// Takes a line, or the end.
    fn take(&mut self, line: Option<&Line<'_>>, import: &mut Import<'_>) -> io::Result<()> {
        match self {
            Self::General(log) => {
                let is_known = |session| import.sink.is_known(session);
                let entry = match line {
                    Some(line) => log.line(line, &is_known),
                    None => log.finish(),
                };
                let strays = std::mem::take(&mut log.strays);
                import.summary.skip(Skipped::NoEntry, line.map_or(0, |line| line.number), strays);
                entry.map_or(Ok(()), |entry| import.general(&entry))
            }
            Self::Slow(log) => {
                let entry = match line {
                    Some(line) => log.line(line),
                    None => log.finish(),
                };
                entry.map_or(Ok(()), |entry| import.slow(&entry))
            }
            Self::Sql(log) => {
                let entry = match line {
                    Some(line) => log.line(line),
                    None => log.finish(),
                };
                entry.map_or(Ok(()), |entry| import.plain(&entry))
            }
        }
    }
}

struct Import<'a> {
    sink: Sink<'a>,
    summary: Summary,
    /// The last time that was known.
    coarse: u64,
}

impl Import<'_> {
    fn general(&mut self, entry: &GeneralEntry) -> io::Result<()> {
        if entry.is_undated {
            self.summary.undated(entry.line);
        }
        self.coarse = entry.at.map_or(self.coarse, |stamp| stamp.at);
        let (session, at) = (entry.session, self.coarse);
        let text = &entry.text.bytes;
        match entry.command {
            "Connect" => match login(text) {
                Some((user, database)) => self.sink.connect(session, at, user, database)?,
                None => self.sink.quit(session, at)?,
            },
            "Quit" => self.sink.quit(session, at)?,
            "Init DB" => self.sink.use_database(session, at, text)?,
            "Reset Connection" | "Reset connection" => {
                self.sink.ask(session, RESET_CONNECTION, b"", (at, None), Answer::default())?
            }
            "Query" if sql_prepares(text) => self.summary.skip(Skipped::Prepared, entry.line, 1),
            "Query" | "Execute" if entry.text.is_open() => {
                self.left(Skipped::Cut, entry.line, session, at)?
            }
            "Query" | "Execute" => {
                let why = problem(text, entry.text.is_too_long);
                self.ask(why, entry.line, session, (at, None), text, Answer::default())?;
            }
            "Prepare" | "Close stmt" => self.summary.skip(Skipped::Prepared, entry.line, 1),
            "Change user" | "Binlog Dump" | "Binlog Dump GTID" | "Table Dump" | "Bulk_execute" => {
                self.left(Skipped::NotRepeatable, entry.line, session, at)?;
            }
            _ => self.summary.skip(Skipped::NoStatement, entry.line, 1),
        }
        Ok(())
    }

    fn slow(&mut self, entry: &SlowEntry) -> io::Result<()> {
        if entry.is_undated {
            self.summary.undated(entry.line);
        }
        let session = entry.session;
        let (mut start, mut end, is_fine) = entry.span().unwrap_or((self.coarse, self.coarse, false));
        self.coarse = start;
        if !is_fine {
            // Within the second that is known it was asked after the answer before it.
            start = start.max(self.sink.last(session).min(start.saturating_add(999_999_999)));
            end = start.saturating_add(entry.time.0);
        }
        if let Some(command) = entry.administrator_command() {
            match command {
                b"Quit" => self.sink.quit(session, start)?,
                b"Reset Connection" | b"Reset connection" => {
                    self.sink.ask(session, RESET_CONNECTION, b"", (start, None), Answer::default())?
                }
                b"Change user" => self.left(Skipped::NotRepeatable, entry.line, session, start)?,
                b"Prepare" | b"Close stmt" => self.summary.skip(Skipped::Prepared, entry.line, 1),
                _ => self.summary.skip(Skipped::NoStatement, entry.line, 1),
            }
            return Ok(());
        }
        let text = entry.text.statement();
        let problem =
            if sql_prepares(text) { Some(Skipped::Prepared) } else { problem(text, entry.text.is_too_long) };
        let problem = if entry.is_inner { Some(Skipped::Inner) } else { problem };
        let problem = if entry.is_cut { Some(Skipped::Cut) } else { problem };
        self.sink.found(session, start, &entry.user, &entry.database)?;
        let SlowEntry { rows, affected, error, .. } = *entry;
        let answer = Answer { rows, affected, error, ..Answer::default() };
        self.ask(problem, entry.line, session, (start, Some(end)), text, answer)
    }

    fn plain(&mut self, entry: &PlainEntry) -> io::Result<()> {
        let (session, text) = (entry.session, entry.text.statement());
        // Without times only the order counts.
        self.coarse = entry.at.map_or(self.coarse + 1, |stamp| stamp.at);
        if !self.sink.is_known(session) {
            self.sink.connect(session, self.coarse, b"", b"")?;
        }
        let problem = match problem(text, entry.text.is_too_long) {
            None if entry.is_of_client => Some(Skipped::OfClient),
            None if !entry.text.is_whole() => Some(Skipped::Cut),
            problem => problem,
        };
        self.ask(problem, entry.line, session, (self.coarse, None), text, Answer::default())
    }

    fn ask(
        &mut self,
        problem: Option<Skipped>,
        line: u64,
        session: u64,
        (start, end): (u64, Option<u64>),
        text: &[u8],
        answer: Answer,
    ) -> io::Result<()> {
        match problem {
            Some(why) => self.left(why, line, session, start),
            None => self.sink.ask(session, QUERY, text, (start, end), answer),
        }
    }

    fn left(&mut self, why: Skipped, line: u64, session: u64, at: u64) -> io::Result<()> {
        self.summary.skip(why, line, 1);
        match why {
            Skipped::TooLong => self.sink.left_out(session, at, Why::TooLong),
            Skipped::NotRepeatable | Skipped::Secret | Skipped::Cut => {
                self.sink.left_out(session, at, Why::NotRepeatable)
            }
            _ => Ok(()),
        }
    }
}

fn problem(text: &[u8], is_too_long: bool) -> Option<Skipped> {
    if is_too_long {
        return Some(Skipped::TooLong);
    }
    has_secret(text).then_some(Skipped::Secret)
}

/// MySQL writes `IDENTIFIED BY <secret>`.
fn has_secret(text: &[u8]) -> bool {
    const SECRET: &[u8] = b"<secret>";
    // Long statements are data: accounts are made by short ones.
    text.len() < 64 << 10 && text.windows(SECRET.len()).any(|part| part == SECRET)
}

/// `PREPARE s FROM`, `EXECUTE s`, `EXECUTE IMMEDIATE`, `DEALLOCATE PREPARE s`, `DROP PREPARE s`: servers write what is executed beside
/// them, with its values, and some hide the text that is prepared.
fn sql_prepares(text: &[u8]) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is = |word: Option<&[u8]>, known: &str| {
        word.is_some_and(|word| word.eq_ignore_ascii_case(known.as_bytes()))
    };
    let starts = text.trim_ascii_start().first().is_some_and(u8::is_ascii_alphabetic);
    let first = words.next();
    let drops = is(first, "deallocate") || is(first, "drop");
    starts && (is(first, "prepare") || is(first, "execute") || drops && is(words.next(), "prepare"))
}
