//! Statements out, responses in.

use super::Worker;
use super::connect::Refusal;
use crate::load::poller::Interest;
use crate::load::session::{Answer, State};
use crate::load::written::{Change, Script, Written};
use crate::workload::StepEnd;
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_wire::{EscapeMode, Expect, command, status};
use std::cmp::Reverse;
use std::io;

/// CR_SERVER_LOST, "lost connection to server during query".
const CODE_LOST: u16 = 2013;
/// ER_LOCK_DEADLOCK: the server has rolled the whole transaction back.
const CODE_DEADLOCK: u16 = 1213;
/// CR_MALFORMED_PACKET, what clients report where they cannot read an answer.
const CODE_MALFORMED: u16 = 2027;
/// CR_PARAMS_NOT_BOUND: what the workload gave does not fit the statement.
const CODE_PARAMETERS: u16 = 2031;
/// ER_UNKNOWN_STMT_HANDLER and ER_NEED_REPREPARE: the server has forgotten the prepared statement.
const CODES_FORGOTTEN: [u16; 2] = [1243, 1615];

impl Worker<'_> {
    /// A socket is ready. Gives the last instant that was read.
    pub(super) fn handle(&mut self, token: u64) -> Nanos {
        let slot = token as u32;
        if self.token(slot) != token {
            return monotonic();
        }
        let session = &self.sessions[slot as usize];
        let connecting = session.state == State::Connecting;
        if connecting && let Err(error) = self.connected(slot) {
            let now = monotonic();
            self.refused(slot, Refusal::Connect(error), now);
            return now;
        }
        if let Err(error) = self.flush_rest(slot) {
            let now = monotonic();
            self.broken(slot, &error, now);
            return now;
        }
        self.receive(slot, token)
    }

    /// Reads a socket until it is empty.
    fn receive(&mut self, slot: u32, token: u64) -> Nanos {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut now = Nanos::ZERO;
        while self.token(slot) == token {
            let Some(link) = &mut self.sessions[slot as usize].link else { break };
            let received = link.receive(&mut buffer);
            now = monotonic();
            self.note_lay(slot, now);
            if self.is_full() {
                // What arrived before this answer had to wait for it, also where nobody woke up for it.
                self.dispatch_due(now);
            }
            match received {
                Ok((0, _)) => self.broken(slot, &io::ErrorKind::UnexpectedEof.into(), now),
                Ok((count, emptied)) => {
                    self.take(slot, &buffer[..count], now);
                    if emptied {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => self.broken(slot, &error, now),
            }
        }
        self.buffer = buffer;
        if self.token(slot) == token {
            self.after_receipt(slot, now);
        }
        now
    }

    /// Sends what TLS answers by itself, and goes on with the login once its handshake is over.
    fn after_receipt(&mut self, slot: u32, now: Nanos) {
        if let Err(error) = self.flush_rest(slot) {
            return self.broken(slot, &error, now);
        }
        let encrypting = self.sessions[slot as usize].state == State::Encrypting;
        if encrypting && let Err(refusal) = self.encrypted(slot) {
            self.refused(slot, refusal, now);
        }
    }

    fn flush_rest(&mut self, slot: u32) -> io::Result<()> {
        match self.sessions[slot as usize].wants_flush() {
            true => self.flush(slot),
            false => Ok(()),
        }
    }

    fn take(&mut self, slot: u32, input: &[u8], now: Nanos) {
        self.recorder.heard(now);
        let session = &mut self.sessions[slot as usize];
        if session.state.is_opening() {
            if let Err(refusal) = self.log_in(slot, input) {
                self.refused(slot, refusal, now);
            }
            return;
        }
        if let Some(request) = &mut session.request
            && request.first_byte == Nanos::ZERO
        {
            request.first_byte = now;
        }
        match session.read(input) {
            Ok(Some(answer)) => self.answered(slot, answer, now),
            Ok(None) => {}
            Err(error) => {
                self.recorder.error_text(CODE_MALFORMED, &error.to_string());
                self.fail(slot, CODE_MALFORMED, now);
                self.lose(slot);
            }
        }
    }

    fn answered(&mut self, slot: u32, answer: Answer, now: Nanos) {
        self.count_written(slot, &answer);
        let session = &mut self.sessions[slot as usize];
        let Some(request) = session.request else {
            return match session.state {
                State::Asking => self.told(slot, &answer, now),
                _ => self.settle(slot),
            };
        };
        match (session.state, answer) {
            (State::Beginning(statement), _) => self.book_begun(slot, statement),
            (State::Preparing(statement), Ok(())) => self.ask(slot, statement),
            (State::Executing(statement), Ok(())) => {
                if request.watched {
                    self.watched(slot, request.statement_send, now);
                }
                if request.measured {
                    self.recorder.statement(statement, Some(now - request.statement_send));
                }
                self.step(slot, Some(now));
            }
            (State::Preparing(statement) | State::Executing(statement), Err(error)) => {
                if CODES_FORGOTTEN.contains(&error.code) {
                    session.handles[statement] = None;
                }
                if request.measured {
                    self.recorder.statement(statement, None);
                }
                if self.goes_on(slot, error.code) {
                    return self.step(slot, Some(now));
                }
                self.recorder.error_text(error.code, &error.text);
                self.fail(slot, error.code, now);
                self.settle(slot);
            }
            _ => self.settle(slot),
        }
    }

    /// Counts what an answered statement wrote, also where no request waits for the answer any more.
    fn count_written(&mut self, slot: u32, answer: &Answer) {
        let session = &mut self.sessions[slot as usize];
        let change = match session.state {
            State::Executing(statement) => self.shared.scripts[statement].change,
            State::RollingBack => Change::RollsBack,
            _ => return,
        };
        if matches!(answer, Err(error) if error.code == CODE_DEADLOCK) {
            session.pending = Written::default();
        }
        // A statement with RETURNING sends the rows that it wrote, and no count.
        let rows = answer.is_ok().then(|| session.reply.affected_rows.max(session.reply.row_count));
        let in_transaction = session.status & status::IN_TRANSACTION != 0;
        let written = session.pending.answered(change, rows, in_transaction);
        self.recorder.wrote(&written);
    }

    /// The first statement of the request, or the next one after an answer of this instant.
    pub(super) fn step(&mut self, slot: u32, answered: Option<Nanos>) {
        let session = &mut self.sessions[slot as usize];
        let Some(request) = session.request else { return };
        let client = &mut self.clients[request.client as usize];
        let reply = answered.and(Some(&session.reply));
        let next = client.client.step(reply, &mut client.random, &mut session.parameters);
        if let Some(end) = client.client.step_ended() {
            self.end_step(slot, end, answered.unwrap_or_default());
        }
        let pause = self.clients[request.client as usize].client.pause();
        match (next, answered) {
            (Some(statement), _) if statement >= self.shared.scripts.len() => {
                self.misused(slot, &format!("workload names statement {statement}, which it does not have"));
            }
            (Some(statement), Some(now)) if pause > Nanos::ZERO => {
                self.pause_until(now + pause, slot, statement);
            }
            (Some(statement), _) => self.ask(slot, statement),
            (None, _) => self.complete(slot, answered.unwrap_or_else(monotonic)),
        }
    }

    fn end_step(&mut self, slot: u32, end: StepEnd, now: Nanos) {
        let Some(request) = &mut self.sessions[slot as usize].request else { return };
        let begun = std::mem::take(&mut request.step_send);
        if request.measured {
            self.recorder.step(end, now - begun);
        }
    }

    fn goes_on(&mut self, slot: u32, code: u16) -> bool {
        let Some(request) = self.sessions[slot as usize].request else { return false };
        let client = &mut self.clients[request.client as usize];
        let goes_on = client.client.tries_again(code, &mut client.random);
        if goes_on && request.measured {
            self.recorder.tried_again();
        }
        goes_on
    }

    /// Sends a statement, or first its preparation.
    pub(super) fn ask(&mut self, slot: u32, statement: usize) {
        if self.begins_book(slot, statement) {
            return;
        }
        let script = &self.shared.scripts[statement];
        let session = &mut self.sessions[slot as usize];
        let (state, expect, sequence) = match (script.prepared, session.handles[statement]) {
            (true, None) => {
                let sequence = command::prepare(&mut session.out, script.sql.as_bytes());
                (State::Preparing(statement), Expect::Prepared, sequence)
            }
            (prepared, handle) => {
                let mode = EscapeMode::of_status(session.status);
                let written = match handle {
                    Some(handle) => Script::put_execute(&mut session.out, handle, &session.parameters),
                    None => script.put_text(&mut session.out, &session.parameters, mode),
                };
                let expect = if prepared { Expect::Binary } else { Expect::Text };
                match written {
                    Ok(sequence) => (State::Executing(statement), expect, sequence),
                    Err(error) => return self.misused(slot, &error.to_string()),
                }
            }
        };
        session.ask(state, expect, sequence, script.captures);
        self.send(slot);
    }

    /// The workload asks for what cannot be sent: the request fails, the session is none the worse.
    fn misused(&mut self, slot: u32, text: &str) {
        let now = monotonic();
        self.recorder.error_text(CODE_PARAMETERS, text);
        self.fail(slot, CODE_PARAMETERS, now);
        self.settle(slot);
    }

    /// Undoes what a failed request began.
    pub(super) fn roll_back(&mut self, slot: u32) {
        let session = &mut self.sessions[slot as usize];
        let sequence = command::query(&mut session.out, b"ROLLBACK");
        session.ask(State::RollingBack, Expect::Text, sequence, false);
        self.send(slot);
    }

    /// Sends the command in the buffer of the session; the clock is read right before.
    pub(super) fn send(&mut self, slot: u32) {
        if self.sessions[slot as usize].request.is_some_and(|request| request.watched) {
            self.watches(slot);
        }
        let now = monotonic();
        let session = &mut self.sessions[slot as usize];
        if let Some(request) = &mut session.request {
            request.statement_send = now;
            if request.step_send == Nanos::ZERO {
                request.step_send = now;
            }
            if request.send == Nanos::ZERO {
                request.send = now;
                session.carried = request.start.carries(request.arrival, now);
            }
        }
        if let Err(error) = self.flush(slot) {
            self.broken(slot, &error, now);
        }
    }

    /// Sends what waits in the buffer of the session, and asks for more room where it does not fit.
    pub(super) fn flush(&mut self, slot: u32) -> io::Result<()> {
        let token = self.token(slot);
        let session = &mut self.sessions[slot as usize];
        let all = session.flush()?;
        if all != session.blocked {
            return Ok(());
        }
        session.blocked = !all;
        let interest = if all { Interest::Read } else { Interest::ReadWrite };
        match &session.link {
            Some(link) => self.poller.change(link.socket(), token, interest),
            None => Ok(()),
        }
    }

    /// The connection is gone, or of no more use.
    fn broken(&mut self, slot: u32, error: &io::Error, now: Nanos) {
        let session = &self.sessions[slot as usize];
        if session.state.is_opening() {
            let error = io::Error::new(error.kind(), error.to_string());
            return self.refused(slot, Refusal::Connect(error), now);
        }
        if session.request.is_some() {
            self.recorder.error_text(CODE_LOST, &format!("lost connection to server during query: {error}"));
            self.fail(slot, CODE_LOST, now);
        }
        self.lose(slot);
    }
}

impl Worker<'_> {
    /// The session asks nothing until then.
    pub(super) fn pause_until(&mut self, at: Nanos, slot: u32, statement: usize) {
        self.sessions[slot as usize].state = State::Pausing(statement);
        self.pausing.push(Reverse(self.deadline(at, slot)));
    }

    /// Asks what was to be asked after the pauses that have ended.
    pub(super) fn end_pauses(&mut self, now: Nanos) {
        while let Some(&Reverse(first)) = self.pausing.peek().filter(|first| first.0.at <= now) {
            self.pausing.pop();
            let session = &self.sessions[first.slot as usize];
            if let (State::Pausing(statement), true) = (session.state, session.epoch == first.epoch) {
                self.ask(first.slot, statement);
            }
        }
    }

    /// The instant at which the next pause ends.
    pub(super) fn next_pause(&self) -> Option<Nanos> {
        self.pausing.peek().map(|first| first.0.at)
    }
}
