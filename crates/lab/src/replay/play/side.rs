//! One server of a client: a connection, and what is prepared on it.

use super::plan::{Counts, Replay};
use crate::replay::recording::Place;
use crate::replay::{Answered, LAST_PREPARED, LOST, UNREACHABLE};
use crate::workload::sql::shifted;
use evenkeel_site::server::{Control, Outcome, Target, TargetError};
use evenkeel_wire::capture::Asked;
use evenkeel_wire::relay::CommandKind;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Several statements in one query are allowed.
const MANY_STATEMENTS: [u8; 3] = [0x1b, 0, 0];
const INIT_DB: u8 = 0x02;
const PREPARE: u8 = 0x16;
const PING: u8 = 0x0e;

/// A prepared statement as the recording knows it: its session, and its number there.
pub(super) type Known = (u32, u32);

/// A command of the recording's session of this index.
pub(super) struct Command<'a> {
    pub session: u32,
    pub place: Place,
    pub asked: Asked<'a>,
}

impl Command<'_> {
    pub fn kind(&self) -> CommandKind {
        CommandKind::of(self.asked.command.first().copied().unwrap_or_default())
    }

    pub fn text(&self) -> &[u8] {
        self.asked.command.get(1..).unwrap_or_default()
    }

    /// The statement that it is about.
    pub fn known(&self) -> Known {
        let number = match self.asked.command {
            [_, a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]),
            _ => 0,
        };
        (self.session, number)
    }
}

/// A statement, and what is known of it by its text.
pub(super) struct Text {
    pub sql: Vec<u8>,
    pub reads: bool,
    pub inserts: bool,
    pub digest: u64,
}

const DAY: u64 = 86_400 * 1_000_000_000;

pub(super) struct Side<'a> {
    target: &'a Target,
    control: Option<Control>,
    /// What the server calls the statements, and how many parameters they have.
    numbers: HashMap<Known, (u32, u16)>,
    /// Types of their parameters, which a client sends with the first execution alone; and where this connection has sent them.
    types: HashMap<Known, Vec<u8>>,
    typed: HashSet<Known>,
    database: Vec<u8>,
}

impl<'a> Side<'a> {
    pub fn new(target: &'a Target) -> Self {
        Self {
            target,
            control: None,
            numbers: HashMap::new(),
            types: HashMap::new(),
            typed: HashSet::new(),
            database: Vec::new(),
        }
    }

    pub fn connected(&mut self, replay: &Replay<'_>) -> Result<&mut Control, TargetError> {
        if self.control.is_none() {
            let mut control = Control::connect_until(self.target, replay.stop)?;
            control.command(&MANY_STATEMENTS, None)?;
            if let Some(zone) = replay.time_zone {
                control.exec(&format!("SET time_zone = '{zone}'"))?;
            }
            if !replay.options.writes {
                control.exec("SET SESSION TRANSACTION READ ONLY")?;
            }
            self.database = self.target.database.clone().unwrap_or_default().into_bytes();
            self.numbers.clear();
            self.typed.clear();
            self.control = Some(control);
        }
        self.control.as_mut().ok_or(TargetError::Stopped)
    }

    /// Connected, in the session's database, with the statement prepared; `bytes` are the command as this server takes it.
    pub fn prepared(
        &mut self,
        replay: &Replay<'_>,
        command: &Command<'_>,
        statements: &HashMap<Known, Rc<Text>>,
        databases: &HashMap<u32, Vec<u8>>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), TargetError> {
        bytes.clear();
        match command.kind() {
            CommandKind::Query | CommandKind::Prepare => {
                bytes.push(command.asked.command[0]);
                bytes.extend_from_slice(&shifted(command.text(), days(replay, command)));
            }
            _ => bytes.extend_from_slice(command.asked.command),
        }
        if command.kind() == CommandKind::ResetConnection {
            // A new connection is what it makes, and one with our own settings.
            self.control = None;
            bytes[0] = PING;
        }
        self.connected(replay)?;
        let database = databases.get(&command.session).map(Vec::as_slice).unwrap_or_default();
        if !database.is_empty() && self.database != database && command.kind() != CommandKind::InitDb {
            self.send(replay, INIT_DB, database)?;
            self.database = database.to_vec();
        }
        match (command.kind(), statements.get(&command.known())) {
            (CommandKind::Prepare | CommandKind::Query | CommandKind::InitDb, _) | (_, None) => Ok(()),
            (_, Some(statement)) => self.number(replay, command, &statement.sql, bytes),
        }
    }

    /// Puts the server's own number of the statement in the place of the recorded one, and takes no cursor.
    fn number(
        &mut self,
        replay: &Replay<'_>,
        command: &Command<'_>,
        sql: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<(), TargetError> {
        let known = command.known();
        let (number, parameters) = match self.numbers.get(&known) {
            Some(&number) => number,
            // The connection is another one than that in which it was prepared.
            None => {
                let sql = shifted(sql, days(replay, command));
                let outcome = self.send(replay, PREPARE, &sql)?;
                let number = (outcome.statement().unwrap_or_default(), outcome.parameters());
                self.numbers.insert(known, number);
                number
            }
        };
        if let Some(place) = bytes.get_mut(1..5) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        match (command.kind(), bytes.get_mut(5)) {
            (CommandKind::Execute, Some(flags)) => {
                *flags = 0;
                self.note_types(known, command.asked.command);
                let at = bound_at(parameters);
                if self.typed.insert(known)
                    && bytes.get(at) == Some(&0)
                    && let Some(types) = self.types.get(&known)
                {
                    bytes[at] = 1;
                    bytes.splice(at + 1..at + 1, types.iter().copied());
                }
            }
            (CommandKind::Close, _) => drop(self.numbers.remove(&known)),
            _ => {}
        }
        Ok(())
    }

    /// Keeps the types that an execution has.
    pub fn note_types(&mut self, known: Known, execution: &[u8]) {
        let Some((_, parameters)) = self.numbers.get(&known) else { return };
        let (at, length) = (bound_at(*parameters), 2 * usize::from(*parameters));
        if execution.get(at) == Some(&1)
            && let Some(types) = execution.get(at + 1..at + 1 + length)
        {
            self.types.insert(known, types.to_vec());
        }
    }

    /// Sends a command of our own.
    fn send(&mut self, replay: &Replay<'_>, kind: u8, text: &[u8]) -> Result<Outcome, TargetError> {
        self.connected(replay)?.command(&[&[kind], text].concat(), None)
    }

    pub fn answered(&mut self, command: &Command<'_>, outcome: &Outcome) {
        let own = outcome.statement().map(|number| (number, outcome.parameters()));
        match (command.kind(), command.asked.answer.statement, own) {
            (CommandKind::Prepare, Some(recorded), Some(own)) => {
                for number in [recorded, LAST_PREPARED] {
                    let known = (command.session, number);
                    self.numbers.insert(known, own);
                    self.types.remove(&known);
                    self.typed.remove(&known);
                }
            }
            (CommandKind::InitDb, ..) => self.database = command.text().to_vec(),
            (CommandKind::Query, ..) => {
                self.database = used(command.text()).unwrap_or_else(|| std::mem::take(&mut self.database))
            }
            _ => {}
        }
    }

    /// What an error comes to. One that is not the server's answer costs the connection.
    pub fn failed(&mut self, replay: &Replay<'_>, error: &TargetError) -> Answered {
        let code = match error {
            TargetError::Statement { code, .. } => *code,
            _ if self.control.take().is_some() => {
                if !replay.stop.is_set() {
                    Counts::count(&replay.counts.lost);
                }
                LOST
            }
            _ => UNREACHABLE,
        };
        Answered { error: Some(code), ..Answered::default() }
    }
}

/// Where an execution says whether it has the types of its parameters: behind a bit for each that is NULL.
fn bound_at(parameters: u16) -> usize {
    10 + usize::from(parameters).div_ceil(8)
}

/// By which the dates of a command move.
fn days(replay: &Replay<'_>, command: &Command<'_>) -> i32 {
    let session = replay.recording.sessions().get(command.session as usize);
    let Some((to, session)) = replay.options.shift_to.zip(session) else { return 0 };
    (to.saturating_sub(replay.recording.log_began(session.log)) / DAY) as i32
}

/// The database that a USE names.
pub(super) fn used(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let (word, rest) = text.split_at_checked(4)?;
    let name = rest.trim_ascii().strip_suffix(b";").unwrap_or(rest).trim_ascii();
    let name = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
    (word.eq_ignore_ascii_case(b"use ") && !name.is_empty()).then(|| name.to_vec())
}
