//! The end of a session: last words, and what has to happen before its permit goes back.

use super::{Context, End, Flow, Session, Stage};
use crate::guard::link::Received;
use crate::guard::refusal::Refusal;
use crate::guard::relay::Permit;

impl Session {
    /// Leaves a stage for the last one.
    pub(super) fn end(&mut self, end: End, cx: &mut Context<'_>) -> Flow {
        let stage = std::mem::replace(&mut self.stage, Stage::Parting(None));
        self.since = cx.desk.now;
        if let End::Refusal(refusal) = &end {
            self.tell(&stage, refusal, cx);
        }
        let server_is_gone = matches!(end, End::Server | End::Over);
        if let Stage::Relay(mut relay) = stage {
            if matches!(end, End::Server) && relay.is_waiting() && !self.client_ended {
                self.say(&Refusal::ServerGone, 1, true);
            }
            if server_is_gone || relay.permit == Permit::None || relay.permit == Permit::Waiting {
                relay.give_back(&mut cx.desk);
            } else {
                self.stage = Stage::Parting(Some(relay));
            }
        }
        self.server.end();
        self.client_deaf |= matches!(end, End::Client);
        match &self.stage {
            Stage::Parting(None) if self.client_deaf => Flow::Closed,
            // Something may be left to be said.
            _ => {
                self.say_goodbye();
                if self.client_deaf && matches!(self.stage, Stage::Parting(None)) {
                    Flow::Closed
                } else {
                    Flow::Open
                }
            }
        }
    }

    /// Sends what is left for the client, and then the end.
    fn say_goodbye(&mut self) {
        match self.client.flush() {
            Ok(true) => {
                self.client.end();
                self.client_deaf |= self.client_ended;
            }
            Ok(false) => {}
            Err(_) => self.client_deaf = true,
        }
    }

    fn tell(&mut self, stage: &Stage, refusal: &Refusal, cx: &mut Context<'_>) {
        let stats = &cx.desk.shared.stats;
        match refusal {
            Refusal::Malformed(_) => stats.malformed.add(),
            _ => stats.refused.add(),
        }
        match stage {
            Stage::Connecting => self.say(refusal, 0, false),
            Stage::Login(login) => self.say(refusal, login.next_number, login.has_greeted()),
            Stage::Relay(relay) if relay.awaits_answer() || refusal.speaks_for_itself() => {
                self.say(refusal, relay.error_number, true);
            }
            Stage::Relay(_) | Stage::Parting(_) => {}
        }
    }

    fn say(&mut self, refusal: &Refusal, number: u8, greeted: bool) {
        let mut out = Vec::new();
        refusal.put(&mut out, number, greeted);
        self.client_deaf |= self.client.send(&out).is_err();
    }

    /// Waits until the client has read the last words and left, and until the server has ended what held a
    /// permit.
    pub(super) fn part(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let Stage::Parting(relay) = &mut self.stage else { return Ok(false) };
        let mut moved = false;
        if self.server.is_readable() && relay.is_some() {
            moved = true;
            if let Ok(Received::End) | Err(_) = self.server.receive(cx.buffer) {
                if let Some(relay) = relay {
                    relay.give_back(&mut cx.desk);
                }
                *relay = None;
            }
        }
        if !self.client_deaf {
            self.say_goodbye();
            if self.client.is_readable() {
                moved = true;
                // What it still says is not heard; unread, it would make the kernel throw our words away.
                self.client_deaf |= matches!(self.client.receive(cx.buffer), Ok(Received::End) | Err(_));
            }
        }
        match &self.stage {
            Stage::Parting(None) if self.client_deaf => Err(End::Over),
            _ => Ok(moved),
        }
    }
}
