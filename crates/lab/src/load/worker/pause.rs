//! Clients that wait between two statements of a transaction.

use super::Worker;
use crate::load::session::State;
use evenkeel_core::Nanos;
use std::cmp::Reverse;

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
