//! One client: a connection to each server, what it has prepared there, and the answers.

use super::plan::{Counts, Replay};
use crate::replay::hash::RowHash;
use crate::replay::reads::reads_only;
use crate::replay::recording::Place;
use crate::replay::{Answered, Played, SIDES};
use crate::workload::sql::{normal, shifted};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::{Control, Target, TargetError};
use evenkeel_wire::capture::Asked;
use evenkeel_wire::relay::CommandKind;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What clients report where a connection is lost (CR_SERVER_LOST), or cannot be had (CR_CONN_HOST_ERROR).
const LOST: u16 = 2013;
const UNREACHABLE: u16 = 2003;
/// MariaDB's number for the statement that was prepared last.
const LAST_PREPARED: u32 = u32::MAX;
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

#[derive(Clone)]
struct Statement {
    sql: Vec<u8>,
    reads: bool,
}

struct Side<'a> {
    target: &'a Target,
    control: Option<Control>,
    /// What the server calls the statements.
    numbers: HashMap<Known, u32>,
    database: Vec<u8>,
}

pub(super) struct Client<'a> {
    replay: &'a Replay<'a>,
    number: u32,
    sides: Vec<Side<'a>>,
    statements: HashMap<Known, Statement>,
    /// The database of each session that changed it.
    databases: HashMap<u32, Vec<u8>>,
    bytes: Vec<u8>,
}

impl<'a> Client<'a> {
    /// Connects; where a server cannot be reached, each command tries again.
    pub fn new(replay: &'a Replay<'a>, number: u32) -> Self {
        let side = |target| Side { target, control: None, numbers: HashMap::new(), database: Vec::new() };
        let mut sides: Vec<Side<'a>> = replay.targets.iter().take(SIDES).map(side).collect();
        for side in &mut sides {
            let _ = side.connected(replay);
        }
        let (statements, databases) = Default::default();
        Self { replay, number, sides, statements, databases, bytes: Vec::new() }
    }

    /// Whether the command is one to be sent; one that is not was counted.
    pub fn sends(&self, command: &Command<'_>) -> bool {
        let Replay { options, counts, .. } = self.replay;
        let skipped = match command.kind() {
            CommandKind::Query if !options.writes && !reads_only(command.text()) => &counts.writes,
            CommandKind::Query
            | CommandKind::Prepare
            | CommandKind::InitDb
            | CommandKind::ResetConnection => return true,
            CommandKind::Execute
            | CommandKind::BulkExecute
            | CommandKind::LongData
            | CommandKind::Close
            | CommandKind::ResetStatement => match self.statements.get(&command.known()) {
                Some(statement) if statement.reads || options.writes => return true,
                Some(_) => &counts.writes,
                None => &counts.unknown,
            },
            _ => &counts.unknown,
        };
        Counts::count(skipped);
        false
    }

    /// Sends a command to each server, in an order drawn for each command. It was due, and could go, at these instants.
    pub fn send(&mut self, command: &Command<'_>, (due, ready): (Nanos, Nanos), clock: &Clock) {
        let (sql, reads) = self.note(command);
        let mut answers: [Option<Answered>; SIDES] = Default::default();
        let mut ready_at = ready;
        // By chance: kinds of statements often take turns themselves.
        let first = Seed(command.place.number.into()).numbered(0).0 as usize % self.sides.len();
        for turn in 0..self.sides.len() {
            let side = (first + turn) % self.sides.len();
            answers[side] = Some(self.ask(side, command, ready_at, clock));
            ready_at = clock.now();
        }
        Counts::count(&self.replay.counts.played);
        let Some(sql) = sql else { return };
        let again = (reads && differ(&answers)).then(|| self.ask(0, command, ready_at, clock));
        let played = Played {
            number: command.place.number.into(),
            session: command.asked.session,
            client: self.number,
            due,
            behind: ready - due,
            digest: digest(&sql),
            recorded: command.asked.answer,
            recorded_time: command.place.time(),
            answers,
            again,
        };
        (self.replay.take)(&played, &sql);
    }

    /// What a command says of later ones. Its text, where its answer is more than OK, and whether it only reads.
    fn note(&mut self, command: &Command<'_>) -> (Option<Vec<u8>>, bool) {
        let text = command.text();
        let recorded = || self.replay.recording.sessions().get(command.session as usize);
        let first = || recorded().map(|session| session.database.clone()).unwrap_or_default();
        let database = self.databases.entry(command.session).or_insert_with(first);
        match command.kind() {
            CommandKind::InitDb => {
                *database = text.to_vec();
                (None, true)
            }
            CommandKind::Query => {
                if let Some(name) = used(text) {
                    *database = name;
                }
                (Some(text.to_vec()), reads_only(text))
            }
            CommandKind::Prepare => {
                if let Some(number) = command.asked.answer.statement {
                    let statement = Statement { sql: text.to_vec(), reads: reads_only(text) };
                    self.statements.insert((command.session, LAST_PREPARED), statement.clone());
                    self.statements.insert((command.session, number), statement);
                }
                (Some(text.to_vec()), true)
            }
            CommandKind::Execute | CommandKind::BulkExecute => {
                let statement = self.statements.get(&command.known());
                statement.map_or((None, false), |statement| (Some(statement.sql.clone()), statement.reads))
            }
            _ => (None, true),
        }
    }

    fn ask(&mut self, side: usize, command: &Command<'_>, ready: Nanos, clock: &Clock) -> Answered {
        let side = &mut self.sides[side];
        let (mut hash, mut bytes, mut sent) = (RowHash::new(), 0, ready);
        let asked = side.prepared(self.replay, command, &self.statements, &self.databases, &mut self.bytes);
        let outcome = asked.and_then(|()| {
            let control = side.connected(self.replay)?;
            sent = clock.now();
            control.command(&self.bytes, &mut |row| {
                bytes += row.size() as u64;
                hash.row(row)
            })
        });
        let response = clock.now() - sent;
        let answered = match outcome {
            Ok(outcome) => {
                side.answered(command, outcome.statement());
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
            control.command(&MANY_STATEMENTS, &mut |_| Ok(()))?;
            if !replay.options.writes {
                control.exec("SET SESSION TRANSACTION READ ONLY")?;
            }
            self.database = self.target.database.clone().unwrap_or_default().into_bytes();
            self.numbers.clear();
            self.control = Some(control);
        }
        self.control.as_mut().ok_or(TargetError::Stopped)
    }

    /// Connected, in the session's database, with the statement prepared; `bytes` are the command as this server takes it.
    fn prepared(
        &mut self,
        replay: &Replay<'_>,
        command: &Command<'_>,
        statements: &HashMap<Known, Statement>,
        databases: &HashMap<u32, Vec<u8>>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), TargetError> {
        bytes.clear();
        match command.kind() {
            CommandKind::Query | CommandKind::Prepare => {
                bytes.push(command.asked.command[0]);
                bytes.extend_from_slice(&shifted(command.text(), replay.options.days));
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
        bytes: &mut [u8],
    ) -> Result<(), TargetError> {
        let known = command.known();
        let number = match self.numbers.get(&known) {
            Some(&number) => number,
            // The connection is another one than that in which it was prepared.
            None => {
                let sql = shifted(sql, replay.options.days);
                let number = self.send(replay, PREPARE, &sql)?.unwrap_or_default();
                self.numbers.insert(known, number);
                number
            }
        };
        if let Some(place) = bytes.get_mut(1..5) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        match (command.kind(), bytes.get_mut(5)) {
            (CommandKind::Execute, Some(flags)) => *flags = 0,
            (CommandKind::Close, _) => drop(self.numbers.remove(&known)),
            _ => {}
        }
        Ok(())
    }

    /// Sends a command of our own; the number of the statement that it prepared.
    fn send(&mut self, replay: &Replay<'_>, kind: u8, text: &[u8]) -> Result<Option<u32>, TargetError> {
        let outcome = self.connected(replay)?.command(&[&[kind], text].concat(), &mut |_| Ok(()))?;
        Ok(outcome.statement())
    }

    fn answered(&mut self, command: &Command<'_>, statement: Option<u32>) {
        match (command.kind(), command.asked.answer.statement, statement) {
            (CommandKind::Prepare, Some(recorded), Some(own)) => {
                self.numbers.insert((command.session, recorded), own);
                self.numbers.insert((command.session, LAST_PREPARED), own);
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

/// The database that a USE names.
fn used(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let (word, rest) = text.split_at_checked(4)?;
    let name = rest.trim_ascii().strip_suffix(b";").unwrap_or(rest).trim_ascii();
    let name = name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name);
    (word.eq_ignore_ascii_case(b"use ") && !name.is_empty()).then(|| name.to_vec())
}

fn digest(sql: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    normal(&String::from_utf8_lossy(sql)).digest.hash(&mut hasher);
    hasher.finish()
}
