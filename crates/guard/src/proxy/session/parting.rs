//! The end of a session: last words, and what has to happen before its permit goes back.

use super::{Action, Context, End, Event, Session, Side, Stage};
use crate::proxy::arrivals::Refusal;
use crate::proxy::seat::Standing;
use evenkeel_core::Nanos;

/// Time for a client to read the last words and to leave.
const PARTING: Nanos = Nanos::from_secs(2);

impl Session {
    /// Leaves a stage for the last one.
    pub(super) fn end(&mut self, end: End, cx: &mut Context<'_>) {
        let stage = std::mem::replace(&mut self.stage, Stage::Parting(None));
        self.since = cx.now;
        if let End::Refusal(refusal) = &end {
            self.send_refusal(&stage, refusal, cx);
        }
        let server_is_gone = matches!(end, End::Server | End::Over);
        if let Stage::Relay(relay) = stage {
            if matches!(end, End::Server) && relay.is_waiting() && !self.client_ended {
                say(&Refusal::ServerGone, 1, true, cx);
            }
            // What runs at the server keeps its permit until the server has ended; any other goes back here.
            let holds = !matches!(relay.standing(), None | Some(Standing::Waiting | Standing::Over));
            if !server_is_gone && holds {
                self.stage = Stage::Parting(Some(relay));
            }
        }
        cx.actions.push(Action::End(Side::Server));
        // Whoever hangs in a login is not waited for: his place is wanted.
        self.client_deaf |= matches!(end, End::Client | End::Refusal(Refusal::LoginTooSlow));
        if !self.client_deaf {
            cx.actions.push(Action::End(Side::Client));
        }
        self.close_if_over(cx);
    }

    fn close_if_over(&self, cx: &mut Context<'_>) {
        if self.client_deaf && matches!(self.stage, Stage::Parting(None)) {
            cx.actions.push(Action::Close);
        }
    }

    fn send_refusal(&mut self, stage: &Stage, refusal: &Refusal, cx: &mut Context<'_>) {
        match refusal {
            Refusal::Malformed(error) => cx.actions.push(Action::Malformed(error.clone())),
            _ => cx.stats.refused.add(),
        }
        match stage {
            Stage::Connecting => say(refusal, 0, false, cx),
            Stage::Login(login) => say(refusal, login.next_number, login.has_greeted(), cx),
            Stage::Relay(relay) if relay.awaits_answer() || refusal.speaks_for_itself() => {
                say(refusal, relay.error_number, true, cx);
            }
            Stage::Relay(_) | Stage::Parting(_) => {}
        }
    }

    /// Waits until the client has read the last words and left, and until the server has ended what held a
    /// permit.
    pub(super) fn part(&mut self, event: Event<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        match event {
            Event::Ended(Side::Server) | Event::Lost(Side::Server, _) | Event::Leaving(Side::Server) => {
                self.stage = Stage::Parting(None);
            }
            // What the client still says is not heard; unread, it would make the kernel throw our words away.
            Event::Ended(Side::Client) | Event::Lost(Side::Client, _) => self.client_deaf = true,
            // A client that had ended before has nothing more to say: it waited only for these last words.
            Event::AllSent => self.client_deaf |= self.client_ended,
            Event::Tick => {
                // A statement that runs on holds up nobody else meanwhile.
                if let Stage::Parting(Some(relay)) = &mut self.stage {
                    relay.make_room(self.client_blocked, cx);
                }
                self.client_deaf |= cx.now - self.since > PARTING;
            }
            _ => return Ok(()),
        }
        self.close_if_over(cx);
        Ok(())
    }
}

fn say(refusal: &Refusal, number: u8, greeted: bool, cx: &mut Context<'_>) {
    let mut out = Vec::new();
    refusal.put(&mut out, number, greeted);
    cx.send(Side::Client, out);
}
