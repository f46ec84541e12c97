//! One client: a connection to each server, and the answers.

use super::plan::{Counts, Past, Replay};
use super::side::{Command, Known, Side, Text, used};
use crate::replay::hash::RowHash;
use crate::replay::reads::{inserts, only_reads, sets_session};
use crate::replay::{Answered, LAST_PREPARED, Played, SIDES, UNREACHABLE};
use evenkeel_core::Nanos;
use evenkeel_core::policy::digest_of;
use evenkeel_core::random::Seed;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::TargetError;
use evenkeel_wire::Row;
use evenkeel_wire::relay::CommandKind;
use std::collections::HashMap;
use std::rc::Rc;

/// What becomes of a command.
pub(super) enum Look {
    /// It is sent, and its answer is of interest.
    Ask(Rc<Text>),
    /// It is sent.
    Quiet,
    Skip,
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
        let mut sides: Vec<Side<'a>> = replay.targets.iter().take(SIDES).map(Side::new).collect();
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
            recorded_time: command.place.time().filter(|_| self.replay.recording.has_round_trips),
            answers: Default::default(),
            again: None,
            is_past: false,
        }
    }

    fn text(&self, sql: &[u8]) -> Rc<Text> {
        Rc::new(Text {
            sql: sql.to_vec(),
            reads: only_reads(sql, self.replay.stored),
            inserts: self.replay.options.writes && inserts(sql),
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
