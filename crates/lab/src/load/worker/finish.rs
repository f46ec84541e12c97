//! How a request ends, and what then becomes of its session.

use super::{Worker, is_live, is_opening};
use crate::load::request_log::{End, Outcome};
use crate::load::result::LoadResult;
use crate::load::schedule::Result;
use crate::load::session::State;
use crate::load::written::Written;
use evenkeel_core::Nanos;
use evenkeel_wire::{command, status};

/// An answer that nobody waits for any more may take this much longer before its connection is closed, if
/// the timeout is not longer.
const ABANDONED_MIN: Nanos = Nanos::from_secs(10);

/// Statements that write are awaited this long where somebody asked to stop.
const WRITES_AT_STOP: Nanos = Nanos::from_secs(2);

impl Worker<'_> {
    pub(super) fn complete(&mut self, slot: u32, answered: Nanos) {
        if self.asks_about(slot, answered) {
            return;
        }
        let mut done = answered;
        if self.per_request {
            self.quit(slot);
            done = evenkeel_os::clock::monotonic();
        }
        if let Some(request) = &mut self.sessions[slot as usize].request
            && request.send == Nanos::ZERO
        {
            // A request without any statement is done as it is sent.
            (request.send, request.first_byte) = (done, done);
        }
        self.end(slot, Outcome::Completed, done);
        if !self.per_request {
            self.release(slot);
        }
    }

    /// How long an answer that no request waits for may take.
    pub(super) fn patience(&self) -> Nanos {
        self.shared.plan.timeout.max(ABANDONED_MIN)
    }

    /// The request failed; the caller says what becomes of the session.
    pub(super) fn fail(&mut self, slot: u32, code: u16, now: Nanos) {
        self.end(slot, Outcome::Failed(code), now);
    }

    /// Ends the request of a session, which the caller uses further.
    pub(super) fn end(&mut self, slot: u32, outcome: Outcome, done: Nanos) {
        let session = &mut self.sessions[slot as usize];
        let Some(request) = session.request.take() else { return };
        session.epoch = session.epoch.wrapping_add(1);
        self.busy -= 1;
        if request.watched {
            self.ends_watched();
        }
        if request.measured {
            self.recorder.ended(End {
                arrival: request.arrival,
                send: request.send,
                first_byte: request.first_byte,
                done,
                kind: request.kind,
                session: slot,
                waited: request.start.waited,
                outcome,
            });
        } else {
            self.recorder.ended_from_warm_up(request.arrival, done, outcome == Outcome::Completed);
            self.sparing.ended(done - request.arrival);
        }
        match outcome {
            Outcome::Completed => self.gauges.completed(done - request.arrival),
            _ => self.gauges.lost(),
        }
        if self.closed {
            self.think(request.client, done);
        }
    }

    /// After a failed or abandoned request: the session is used again once nothing of it is left.
    pub(super) fn settle(&mut self, slot: u32) {
        let session = &mut self.sessions[slot as usize];
        session.epoch = session.epoch.wrapping_add(1);
        if self.per_request {
            return self.quit(slot);
        }
        let in_transaction = session.status & status::IN_TRANSACTION != 0;
        if in_transaction && session.state != State::RollingBack {
            return self.roll_back(slot);
        }
        if in_transaction {
            // It could not be rolled back: only a new session is sure to be clean.
            return self.lose(slot);
        }
        self.release(slot);
    }

    /// The session is free for another request.
    pub(super) fn release(&mut self, slot: u32) {
        self.sessions[slot as usize].state = State::Idle;
        self.idle.push(slot);
    }

    pub(super) fn quit(&mut self, slot: u32) {
        let session = &mut self.sessions[slot as usize];
        if !session.state.is_opening() && session.out.is_empty() {
            command::quit(&mut session.out);
            // Whether the goodbye arrives is of no importance.
            let _ = session.flush();
        }
        self.close(slot);
    }

    /// Closes a connection that should have stayed.
    pub(super) fn lose(&mut self, slot: u32) {
        if !self.per_request {
            self.lost += 1;
        }
        self.close(slot);
    }

    /// Closes; a request that is still there keeps its slot until it ends.
    pub(super) fn close(&mut self, slot: u32) {
        let session = &mut self.sessions[slot as usize];
        match session.state {
            State::Closed => return,
            state if state.is_opening() => self.opening -= 1,
            State::Idle => {
                self.open -= 1;
                self.idle.retain(|&idle| idle != slot);
            }
            _ => self.open -= 1,
        }
        self.count_unanswered(slot);
        self.sessions[slot as usize].close();
        self.vacant.push(slot);
    }

    /// Whether a statement that writes was sent, and its answer is not there: it may be done.
    fn is_unanswered(&self, slot: u32) -> bool {
        let session = &self.sessions[slot as usize];
        let State::Executing(statement) = session.state else { return false };
        let in_transaction = session.status & status::IN_TRANSACTION != 0;
        let change = self.shared.scripts[statement].change;
        !session.reader.is_done() && change.is_open_question(in_transaction, &session.pending)
    }

    fn count_unanswered(&mut self, slot: u32) {
        if self.is_unanswered(slot) {
            self.recorder.wrote(&Written { unanswered: 1, ..Written::default() });
        }
    }

    pub(super) fn expire(&mut self, now: Nanos) {
        let timeout = self.shared.plan.timeout;
        while self.waiting.front().is_some_and(|arrival| now >= arrival.at + timeout) {
            self.drop_first_waiting(now);
        }
        while let Some(first) = self.requests.first(|deadline| is_live(&self.sessions, deadline))
            && now >= first.at
        {
            self.time_out(first.slot, now);
        }
        while let Some(first) = self.abandoned.first(|deadline| is_live(&self.sessions, deadline))
            && now >= first.at
        {
            self.lose(first.slot);
        }
        while let Some(first) = self.logins.first(|deadline| is_opening(&self.sessions, deadline))
            && now >= first.at
        {
            let slow = std::io::Error::from(std::io::ErrorKind::TimedOut);
            self.refused(first.slot, super::connect::Refusal::Connect(slow), now);
        }
        self.pump(now);
    }

    /// The request is given up. Its session stays open for the answer, which is then thrown away: closing it
    /// would not stop the server, and opening another would make the overload worse.
    fn time_out(&mut self, slot: u32, now: Nanos) {
        self.end(slot, Outcome::TimedOut, now);
        let session = &self.sessions[slot as usize];
        if self.per_request || !session.state.is_asking() {
            return self.close(slot);
        }
        let deadline = self.deadline(now + self.patience(), slot);
        let sessions = &self.sessions;
        self.abandoned.push(deadline, sessions.len(), |deadline| is_live(sessions, deadline));
    }

    /// Ends every request: what is under way has timed out, what waits was never sent. Then statements that write are awaited a
    /// while, so that what they wrote is counted.
    pub(super) fn await_writes(&mut self) -> Result<()> {
        let now = evenkeel_os::clock::monotonic();
        self.stopped = true;
        for slot in 0..self.sessions.len() as u32 {
            self.end(slot, Outcome::TimedOut, now);
        }
        while !self.waiting.is_empty() {
            self.drop_first_waiting(now);
        }
        self.publish();
        while (0..self.sessions.len() as u32).any(|slot| self.is_unanswered(slot)) {
            let patience = if self.shared.stop.is_set() { WRITES_AT_STOP } else { ABANDONED_MIN };
            if evenkeel_os::clock::monotonic() - now > patience {
                break;
            }
            self.wait_a_moment()?;
        }
        Ok(())
    }

    /// Closes all sessions, and gives what the load brought.
    pub(super) fn finish(mut self) -> LoadResult {
        let (cpu, context_switches) = self.usage.difference();
        for slot in 0..self.sessions.len() as u32 {
            match self.sessions[slot as usize].state {
                State::Idle => self.quit(slot),
                _ => self.close(slot),
            }
        }
        LoadResult {
            stopped: self.shared.stop.is_set(),
            sessions_max: self.open_max as u32,
            reconnects: self.reconnects,
            cpu,
            cpu_busiest: cpu,
            context_switches,
            ..self.recorder.finish(&*self.shared.plan.workload)
        }
    }
}
