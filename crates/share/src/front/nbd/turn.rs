//! What the engine asks of the front in each of its turns.

use super::{CONNECTIONS, Nbd};
use crate::front::{Front, TOKENS};
use crate::handle::Crowd;
use crate::{Answer, Request};
use evenkeel_core::Nanos;
use evenkeel_os::{Interest, Poller, Ready};
use std::io;

impl Front for Nbd {
    fn watch(&mut self, poller: &Poller) -> io::Result<()> {
        let mut doors = self.doors.iter().zip(TOKENS..);
        doors.try_for_each(|(door, token)| poller.add(&door.listener, token, Interest::Read))
    }

    fn ready(&mut self, ready: Ready) {
        let Some(number) = ready.token.checked_sub(CONNECTIONS) else {
            self.knocked = true;
            let door = self.doors.get_mut((ready.token - TOKENS) as usize);
            door.into_iter().for_each(|door| door.knocks = true);
            return;
        };
        let number = number as usize;
        if ready.gone {
            // Nobody is left to hear an answer: what was asked is no longer wanted.
            return self.end(number);
        }
        let Some(connection) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        if ready.read {
            connection.set_readable(ready.ended);
            if !connection.waits {
                self.again.push(number);
            }
        }
        if ready.write && connection.armed {
            self.unsent.push(number);
        }
    }

    fn take(&mut self, poller: &Poller, now: Nanos, requests: &mut Vec<Request>) {
        self.now = now;
        if now >= self.look_at {
            self.look();
        }
        if now >= self.knock_at {
            (self.knocked, self.knock_at) = (true, Nanos::MAX);
        }
        if self.knocked {
            self.accept(poller);
        }
        requests.append(&mut self.following);
        self.wake_waiting();
        for number in std::mem::take(&mut self.again) {
            self.read(number, requests);
        }
    }

    fn answer(&mut self, connection: u64, cookie: u64, answer: Answer) {
        let number = connection as usize;
        let Some(client) = self.connections.get_mut(number).and_then(Option::as_mut) else { return };
        let had_unsent = client.has_unsent();
        self.following.extend(client.answer(connection, cookie, answer, &mut self.memory));
        if client.socket().is_none() {
            self.end(number);
        } else if !had_unsent && client.has_unsent() {
            self.unsent.push(number);
        }
    }

    fn push(&mut self, poller: &Poller) {
        for number in std::mem::take(&mut self.unsent) {
            self.send(poller, number);
        }
        self.wake_waiting();
    }

    fn due(&self) -> Nanos {
        self.look_at.min(self.knock_at)
    }

    fn gone(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.gone)
    }

    fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    fn has_more(&self) -> bool {
        self.knocked || !self.again.is_empty() || !self.following.is_empty()
    }

    fn close(&mut self) {
        self.doors.iter().for_each(|door| door.listener.close());
        self.doors.clear();
        for number in 0..self.connections.len() {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            connection.stop(&mut self.memory);
            if connection.is_done() {
                self.end(number);
            }
        }
    }

    fn has_unsent(&self) -> bool {
        self.connections.iter().flatten().any(|connection| connection.has_unsent())
    }

    fn clients(&self) -> usize {
        self.clients
    }
}
