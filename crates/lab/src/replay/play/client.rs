//! One client: a connection to each server, what it has prepared there, and the answers.

use super::plan::{Counts, Past, Replay};
use crate::replay::hash::RowHash;
use crate::replay::reads::{inserts, only_reads, sets_session};
use crate::replay::recording::Place;
use crate::replay::{Answered, LAST_PREPARED, LOST, Played, SIDES, UNREACHABLE};
use crate::workload::sql::shifted;
use evenkeel_core::Nanos;
use evenkeel_core::policy::digest_of;
use evenkeel_core::random::Seed;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::{Control, Outcome, Target, TargetError};
use evenkeel_wire::Row;
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
type Known = (u32, u32);

/// A command of the recording's session of this index.
pub(super) struct Command<'a> {
    pub session: u32,
    pub place: Place,
    pub asked: Asked<'a>,
}

impl Command<'_> {
    fn kind(&self) -> CommandKind {
        CommandKind::of(self.asked.command.first().copied().unwrap_or_default())
    }

    fn text(&self) -> &[u8] {
        self.asked.command.get(1..).unwrap_or_default()
    }

    /// The statement that it is about.
    fn known(&self) -> Known {
        let number = match self.asked.command {
            [_, a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]),
            _ => 0,
        };
        (self.session, number)
    }
}

/// A statement, and what is known of it by its text.
pub(super) struct Text {
    sql: Vec<u8>,
    reads: bool,
    inserts: bool,
    digest: u64,
}

/// What becomes of a command.
pub(super) enum Look {
    /// It is sent, and its answer is of interest.
    Ask(Rc<Text>),
    /// It is sent.
    Quiet,
    Skip,
}

const DAY: u64 = 86_400 * 1_000_000_000;

struct Side<'a> {
    target: &'a Target,
    control: Option<Control>,
    /// What the server calls the statements, and how many parameters they have.
    numbers: HashMap<Known, (u32, u16)>,
    /// Types of their parameters, which a client sends with the first execution alone; and where this connection has sent them.
    types: HashMap<Known, Vec<u8>>,
    typed: HashSet<Known>,
    database: Vec<u8>,
}

pub(super) struct Client<'a> {
    replay: &'a Replay<'a>,
    number: u32,
    sides: Vec<Side<'a>>,
    statements: HashMap<Known, Rc<Text>>,
    /// The database of each session that changed it.
    databases: HashMap<u32, Vec<u8>>,
    bytes: Vec<u8>,
}

impl<'a> Client<'a> {
    /// Connects; where a server cannot be reached, each command tries again.
    pub fn new(replay: &'a Replay<'a>, number: u32) -> Self {
        let side = |target| Side {
            target,
            control: None,
            numbers: HashMap::new(),
            types: HashMap::new(),
            typed: HashSet::new(),
            database: Vec::new(),
        };
        let mut sides: Vec<Side<'a>> = replay.targets.iter().take(SIDES).map(side).collect();
        for side in &mut sides {
            let _ = side.connected(replay);
        }
        let (statements, databases) = Default::default();
        Self { replay, number, sides, statements, databases, bytes: Vec::new() }
    }

    /// Whether and how a command is sent, and what it says of later ones; one that is not sent was counted.
    pub fn look(&mut self, command: &Command<'_>) -> Look {
        if command.kind() == CommandKind::Execute {
            self.sides.iter_mut().for_each(|side| side.note_types(command.known(), command.asked.command));
        }
        let Replay { options, counts, .. } = self.replay;
        let skip = |of| {
            Counts::count(of);
            Look::Skip
        };
        match command.kind() {
            CommandKind::Query => {
                let text = self.text(command.text());
                if !text.reads && !options.writes {
                    return skip(&counts.writes);
                }
                if let Some(name) = used(command.text()) {
                    self.databases.insert(command.session, name);
                }
                Look::Ask(text)
            }
            CommandKind::Prepare => {
                let text = self.text(command.text());
                for number in command.asked.answer.statement.into_iter().chain([LAST_PREPARED]) {
                    self.statements.insert((command.session, number), Rc::clone(&text));
                }
                // What is wrong with it shows when it is executed.
                Look::Quiet
            }
            CommandKind::InitDb => {
                self.databases.insert(command.session, command.text().to_vec());
                Look::Quiet
            }
            CommandKind::ResetConnection => Look::Quiet,
            CommandKind::Execute
            | CommandKind::BulkExecute
            | CommandKind::LongData
            | CommandKind::Close
            | CommandKind::ResetStatement => match self.statements.get(&command.known()) {
                None => skip(&counts.unknown),
                Some(text) if !text.reads && !options.writes => skip(&counts.writes),
                Some(text) if matches!(command.kind(), CommandKind::Execute | CommandKind::BulkExecute) => {
                    Look::Ask(Rc::clone(text))
                }
                Some(_) => Look::Quiet,
            },
            _ => skip(&counts.unknown),
        }
    }

    /// What an earlier replay has of a command is taken; it is sent again only where the session needs it.
    pub fn past(&self, command: &Command<'_>, look: Look) -> Look {
        let Look::Ask(text) = &look else { return look };
        let past = self.replay.past.and_then(|past| past(self.number, command.place.number));
        let Some(past) = past.filter(|past| past.digest == text.digest) else { return look };
        let Past { behind, answers, again, .. } = past;
        let played = Played { behind, answers, again, is_past: true, ..self.played(command, text) };
        (self.replay.take)(&played, &text.sql);
        if sets_session(&text.sql) {
            return Look::Quiet;
        }
        Counts::count(&self.replay.counts.played);
        Look::Skip
    }

    /// A command without its answers.
    fn played(&self, command: &Command<'_>, text: &Text) -> Played {
        Played {
            number: command.place.number.into(),
            session: command.asked.session,
            client: self.number,
            due: Nanos::ZERO,
            behind: Nanos::ZERO,
            digest: text.digest,
            recorded: command.asked.answer,
            recorded_time: command.place.time().filter(|_| self.replay.recording.has_round_trips()),
            answers: Default::default(),
            again: None,
            is_past: false,
        }
    }

    fn text(&self, sql: &[u8]) -> Rc<Text> {
        Rc::new(Text {
            sql: sql.to_vec(),
            reads: only_reads(sql, self.replay.stored),
            inserts: inserts(sql),
            digest: digest_of(sql),
        })
    }

    /// Sends a command to each server, in an order drawn for each command. It was due, and could go, at these instants. How long the
    /// servers took.
    pub fn send(
        &mut self,
        command: &Command<'_>,
        text: Option<&Text>,
        (due, ready): (Nanos, Nanos),
        clock: &Clock,
    ) -> Nanos {
        let recorded = self.replay.recording.sessions().get(command.session as usize);
        let first = || recorded.map(|session| session.database.clone()).unwrap_or_default();
        self.databases.entry(command.session).or_insert_with(first);
        let number = text.filter(|text| text.inserts).and(command.asked.answer.inserted);
        let mut answers: [Option<Answered>; SIDES] = Default::default();
        let mut ready_at = ready;
        // By chance: kinds of statements often take turns themselves.
        let first = Seed(command.place.number.into()).numbered(0).0 as usize % self.sides.len();
        for turn in 0..self.sides.len() {
            let side = (first + turn) % self.sides.len();
            answers[side] = Some(self.ask(side, command, number, ready_at, clock));
            ready_at = clock.now();
        }
        if self.hung_up(&answers) {
            return Nanos::ZERO;
        }
        if answers.iter().flatten().any(|answer| answer.error == Some(UNREACHABLE)) {
            Counts::count(&self.replay.counts.unreachable);
            return Nanos::ZERO;
        }
        Counts::count(&self.replay.counts.played);
        let took = |answers: &[Option<Answered>]| {
            answers.iter().flatten().fold(Nanos::ZERO, |sum, answer| sum + answer.response)
        };
        let Some(text) = text else { return took(&answers) };
        let again = (text.reads && differ(&answers)).then(|| self.ask(0, command, None, ready_at, clock));
        if self.hung_up(std::slice::from_ref(&again)) {
            return Nanos::ZERO;
        }
        let all = took(&answers) + again.as_ref().map_or(Nanos::ZERO, |again| again.response);
        let behind = ready - due;
        let played = Played { due, behind, answers, again, ..self.played(command, text) };
        (self.replay.take)(&played, &text.sql);
        all
    }

    /// Whether an answer is missing because somebody stops us.
    fn hung_up(&self, answers: &[Option<Answered>]) -> bool {
        self.replay.stop.is_set() && answers.iter().flatten().any(Answered::is_lost)
    }

    /// `number` is the AUTO_INCREMENT number that its first row gets: sessions that insert at the same time would swap theirs.
    fn ask(
        &mut self,
        side: usize,
        command: &Command<'_>,
        number: Option<u64>,
        ready: Nanos,
        clock: &Clock,
    ) -> Answered {
        let side = &mut self.sides[side];
        let (mut hash, mut bytes, mut sent) = (RowHash::new(), 0, ready);
        let asked = side.prepared(self.replay, command, &self.statements, &self.databases, &mut self.bytes);
        let outcome = asked.and_then(|()| {
            let control = side.connected(self.replay)?;
            if let Some(number) = number {
                match control.exec(&format!("SET insert_id = {number}")) {
                    Err(TargetError::Statement { .. }) => Counts::count(&self.replay.counts.renumbered),
                    done => drop(done?),
                }
            }
            sent = clock.now();
            let mut each = |row: &Row<'_>| {
                bytes += row.size() as u64;
                hash.row(row)
            };
            control.command(&self.bytes, if self.replay.options.hashes { Some(&mut each) } else { None })
        });
        let response = clock.now() - sent;
        let answered = match outcome {
            Ok(outcome) => {
                side.answered(command, &outcome);
                Answered {
                    rows: outcome.rows,
                    affected: outcome.affected_rows,
                    warnings: outcome.warnings.into(),
                    hash: hash.finish(),
                    bytes,
                    ..Answered::default()
                }
            }
            Err(error) => side.failed(self.replay, &error),
        };
        Answered { lag: sent - ready, response, ..answered }
    }
}

fn differ(answers: &[Option<Answered>; SIDES]) -> bool {
    let [Some(one), Some(other)] = answers else { return false };
    one.error.is_none() && other.error.is_none() && (one.rows, one.hash) != (other.rows, other.hash)
}

impl Side<'_> {
    fn connected(&mut self, replay: &Replay<'_>) -> Result<&mut Control, TargetError> {
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
    fn prepared(
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
    fn note_types(&mut self, known: Known, execution: &[u8]) {
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

    fn answered(&mut self, command: &Command<'_>, outcome: &Outcome) {
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
    fn failed(&mut self, replay: &Replay<'_>, error: &TargetError) -> Answered {
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
    let age = |(to, session): (u64, _)| to.saturating_sub(replay.recording.log_began(session));
    replay.options.shift_to.zip(session).map_or(0, |both| (age(both) / DAY) as i32)
}

/// The database that a USE names.
fn used(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let (word, rest) = text.split_at_checked(4)?;
    let name = rest.trim_ascii().strip_suffix(b";").unwrap_or(rest).trim_ascii();
    let name = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
    (word.eq_ignore_ascii_case(b"use ") && !name.is_empty()).then(|| name.to_vec())
}
