//! Writes what a log says as the records of a capture.

use super::log::Recognised;
use evenkeel_wire::capture::{Answer, Asked, LeftOut, MAGIC, Opened, Record, Why};
use std::collections::HashMap;
use std::io::{self, Write};

pub const QUERY: u8 = 3;
const INIT_DB: u8 = 2;
pub const RESET_CONNECTION: u8 = 31;
/// Most sessions that are remembered. Many logs do not say when a session ends.
const SESSIONS_MAX: usize = 1 << 20;
/// Longest name of a user or a database.
const NAME_MAX: usize = 512;

#[derive(Debug, Default)]
struct Known {
    user: Vec<u8>,
    database: Vec<u8>,
    connected: u64,
    is_late: bool,
    is_written: bool,
    /// End of its last command.
    last: u64,
}

pub struct Sink<'a> {
    out: &'a mut dyn Write,
    sessions: HashMap<u64, Known>,
    record: Vec<u8>,
    command: Vec<u8>,
    /// Written so far.
    pub commands: u64,
}

impl<'a> Sink<'a> {
    pub fn new(out: &'a mut dyn Write, log: &Recognised) -> io::Result<Self> {
        let header = serde_json::to_string(log)?;
        out.write_all(MAGIC)?;
        writeln!(out, "{header}")?;
        Ok(Self { out, sessions: HashMap::new(), record: Vec::new(), command: Vec::new(), commands: 0 })
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub fn is_known(&self, session: u64) -> bool {
        self.sessions.contains_key(&session)
    }

    /// End of the session's last command; 0 where it had none.
    pub fn last(&self, session: u64) -> u64 {
        self.sessions.get(&session).map_or(0, |known| known.last)
    }

    /// A session begins. It is written when it asks something.
    pub fn connect(&mut self, session: u64, at: u64, user: &[u8], database: &[u8]) -> io::Result<()> {
        self.quit(session, at)?;
        self.remember(
            session,
            Known { user: name(user), database: name(database), connected: at, ..Known::default() },
        );
        Ok(())
    }

    pub fn quit(&mut self, session: u64, at: u64) -> io::Result<()> {
        match self.sessions.remove(&session) {
            Some(known) if known.is_written => {
                self.write(&Record::Closed { session, at: at.max(known.last) })
            }
            _ => Ok(()),
        }
    }

    /// A session that asks something as this user, in this database.
    pub fn found(&mut self, session: u64, at: u64, user: &[u8], database: &[u8]) -> io::Result<()> {
        match self.sessions.get(&session) {
            None => {
                let (user, database) = (name(user), name(database));
                self.remember(
                    session,
                    Known { user, database, connected: at, is_late: true, ..Known::default() },
                );
                Ok(())
            }
            Some(known) if database.is_empty() || known.database == database => Ok(()),
            Some(_) => self.use_database(session, at, database),
        }
    }

    pub fn use_database(&mut self, session: u64, at: u64, database: &[u8]) -> io::Result<()> {
        self.ask(session, INIT_DB, database, (at, None), Answer::default())?;
        if let Some(known) = self.sessions.get_mut(&session) {
            known.database = name(database);
        }
        Ok(())
    }

    pub fn left_out(&mut self, session: u64, at: u64, why: Why) -> io::Result<()> {
        self.open(session, at)?;
        self.write(&Record::LeftOut(LeftOut { session, at, commands: 1, why }))
    }

    /// A command by its number in the protocol.
    pub fn ask(
        &mut self,
        session: u64,
        number: u8,
        text: &[u8],
        (start, end): (u64, Option<u64>),
        answer: Answer,
    ) -> io::Result<()> {
        self.open(session, start)?;
        if let Some(known) = self.sessions.get_mut(&session) {
            known.last = end.unwrap_or(start).max(known.last);
        }
        let mut command = std::mem::take(&mut self.command);
        command.clear();
        command.push(number);
        command.extend_from_slice(text);
        let written = self.write(&Record::Asked(Asked { session, start, end, command: &command, answer }));
        self.command = command;
        self.commands += 1;
        written
    }

    fn open(&mut self, session: u64, at: u64) -> io::Result<()> {
        if !self.is_known(session) {
            self.remember(session, Known { connected: at, is_late: true, ..Known::default() });
        }
        let Some(known) = self.sessions.get_mut(&session).filter(|known| !known.is_written) else {
            return Ok(());
        };
        known.is_written = true;
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        let Known { user, database, connected, is_late, .. } = &*known;
        Record::Opened(Opened { session, at: *connected, user, database, is_late: *is_late })
            .write(&mut record);
        let written = self.out.write_all(&record);
        self.record = record;
        written
    }

    fn remember(&mut self, session: u64, known: Known) {
        if self.sessions.len() >= SESSIONS_MAX {
            // Those that still ask are found again, as sessions that had begun before.
            self.sessions.clear();
        }
        self.sessions.insert(session, known);
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
