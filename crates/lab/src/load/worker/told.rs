//! Which requests are drawn, how their sessions begin to keep book, and what the server is asked behind them.

use super::{Worker, is_live};
use crate::load::parts::Watched;
use crate::load::request_log::Outcome;
use crate::load::session::{Answer, State};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_wire::{Expect, command};

impl Worker<'_> {
    /// An idle session. A request that is drawn takes one that keeps book already, and another one that does not, where
    /// there is such a one; which of them it is never decides whether there is one.
    pub(super) fn idle_session(&mut self) -> Option<u32> {
        let Some(asking) = &mut self.asking else { return self.idle.pop() };
        let drawn = asking.random.chance(asking.plan.share);
        let begin = asking.begin.len();
        let suits = |slot: &u32| (self.sessions[*slot as usize].book.begun == begin) == drawn;
        let place = self.idle.iter().rposition(suits).or(self.idle.len().checked_sub(1))?;
        let slot = self.idle.remove(place);
        self.sessions[slot as usize].book.drawn = drawn;
        Some(slot)
    }

    /// The same for a request with a connection of its own.
    pub(super) fn draw_for(&mut self, slot: u32) {
        if let Some(asking) = &mut self.asking {
            self.sessions[slot as usize].book.drawn = asking.random.chance(asking.plan.share);
        }
    }

    /// A request takes the session; whether it was drawn.
    pub(super) fn begins_watched(&mut self, slot: u32) -> bool {
        let Some(asking) = &mut self.asking else { return false };
        let book = &mut self.sessions[slot as usize].book;
        book.watched = Watched::default();
        asking.under_way += usize::from(book.drawn);
        book.drawn
    }

    /// A request that was drawn has ended, however it did.
    pub(super) fn ends_watched(&mut self) {
        if let Some(asking) = &mut self.asking {
            asking.under_way -= 1;
        }
    }

    /// Tells the session of a drawn request to keep book, where it does not; then the statement comes later.
    pub(super) fn begins_book(&mut self, slot: u32, statement: usize) -> bool {
        let session = &mut self.sessions[slot as usize];
        let Some(asking) = &self.asking else { return false };
        if !session.request.is_some_and(|request| request.watched) {
            return false;
        }
        if !std::mem::replace(&mut session.book.stamps, true)
            && let Some(link) = &mut session.link
        {
            link.stamp_arrivals();
        }
        let Some(sql) = asking.begin.get(session.book.begun) else { return false };
        session.book.begun += 1;
        let sequence = command::query(&mut session.out, sql.as_bytes());
        session.ask(State::Beginning(statement), Expect::Text, sequence, true);
        self.send(slot);
        true
    }

    /// The session was told. Where the server refuses, the question behind the request finds nothing.
    pub(super) fn book_begun(&mut self, slot: u32, statement: usize) {
        let session = &mut self.sessions[slot as usize];
        let pid = self.asking.as_ref().and_then(|asking| asking.plan.server_pid);
        if let Some(server) = pid.zip(session.reply.first_id(0)) {
            session.book.server = u32::try_from(server.1).ok().map(|thread| (server.0, thread));
        }
        self.ask(slot, statement);
    }

    pub(super) fn watches(&mut self, slot: u32) {
        let book = &mut self.sessions[slot as usize].book;
        book.server_before = book.server_waited();
    }

    pub(super) fn watched(&mut self, slot: u32, sent: Nanos, now: Nanos) {
        let book = &mut self.sessions[slot as usize].book;
        let waited = book.server_before.zip(book.server_waited()).map(|(before, after)| after - before);
        let ((lay, by_kernel), took) = (book.lay, now - sent);
        let watched = &mut book.watched;
        watched.server_waking = match (waited, watched.server_waking, watched.statements) {
            (Some(waited), Some(before), _) => Some(before + waited),
            (waited, _, 0) => waited,
            _ => None,
        };
        watched.statements += 1;
        watched.asked += took;
        watched.waking += lay.min(took);
        let noted = &mut watched.noted;
        *(if by_kernel { &mut noted.by_kernel } else { &mut noted.by_thread }) += 1;
    }

    /// What the thread has waited for a CPU until now, where that may matter.
    pub(super) fn before_wait(&self) -> Option<Nanos> {
        let asking = self.asking.as_ref().filter(|asking| asking.under_way > 0)?;
        asking.waited_until_now()
    }

    pub(super) fn woke(&mut self, before: Option<Nanos>, slept: bool) {
        let Some(asking) = &mut self.asking else { return };
        if asking.under_way == 0 {
            return;
        }
        let waited = before.filter(|_| slept).zip(asking.waited_until_now());
        asking.waited = waited.map_or(Nanos::ZERO, |(before, after)| after - before);
        asking.woke = monotonic();
    }

    /// Bytes were read at `now`: how long they had been there. The kernel says it of TCP; otherwise it is what the thread
    /// waited for a CPU before it looked, and did since.
    pub(super) fn note_lay(&mut self, slot: u32, now: Nanos) {
        let Some(asking) = &self.asking else { return };
        let session = &mut self.sessions[slot as usize];
        let age = session.link.as_ref().and_then(|link| link.age());
        session.book.lay = match age {
            Some(age) => (age, true),
            None => (asking.waited + (now - asking.woke), false),
        };
    }

    /// Compares a completed request with the others, and asks about it where it was drawn; whether the session is still in use.
    pub(super) fn asks_about(&mut self, slot: u32, answered: Nanos) -> bool {
        let (Some(asking), Some(request)) = (&self.asking, self.sessions[slot as usize].request) else {
            return false;
        };
        let response = answered - request.arrival;
        if request.measured {
            self.recorder.parts().compare(request.watched, response);
        }
        let book = &mut self.sessions[slot as usize].book;
        if !request.watched || book.watched.statements == 0 {
            return false;
        }
        (book.watched.response, book.measured) = (response, request.measured);
        let sql = asking.questions.ask();
        self.end(slot, Outcome::Completed, answered);
        let deadline = self.deadline(answered + self.patience(), slot);
        let sessions = &self.sessions;
        self.abandoned.push(deadline, sessions.len(), |deadline| is_live(sessions, deadline));
        let session = &mut self.sessions[slot as usize];
        session.book.asked_at = monotonic();
        let sequence = command::query(&mut session.out, sql.as_bytes());
        session.ask(State::Asking, Expect::Text, sequence, true);
        self.send(slot);
        true
    }

    /// Whether the server still owes an answer about a request that has ended: without it the last ones of a run would never be
    /// told of.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some() && self.sessions.iter().any(|session| session.state == State::Asking)
    }

    pub(super) fn told(&mut self, slot: u32, answer: &Answer, now: Nanos) {
        let Some(asking) = &self.asking else { return self.settle(slot) };
        let session = &mut self.sessions[slot as usize];
        let book = &mut session.book;
        let rows = if answer.is_ok() { session.reply.rows.as_slice() } else { &[] };
        let execution_ms = asking.questions.read(rows, book.watched.statements, &mut book.last);
        if let Some(execution_ms) = execution_ms.filter(|_| book.measured) {
            self.recorder.parts().told(&book.watched, execution_ms, now - book.asked_at);
        }
        // What the request left behind, an open transaction say, is as without the question.
        session.epoch = session.epoch.wrapping_add(1);
        match self.per_request {
            true => self.quit(slot),
            false => self.release(slot),
        }
    }
}
