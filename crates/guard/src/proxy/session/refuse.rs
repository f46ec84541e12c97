//! What ends early. A client that has left: what has to happen before its session can go. Commands that the gate has refused:
//! the client gets an error, and its session goes on. A command may be larger than what is
//! kept of it, so that the rest is thrown away as it comes in; and a client may have said thousands of them ahead, so that
//! it gets a few errors at a time, and only while it reads them.

use super::relay::{Question, Relay, TURN};
use super::{Context, Refusal, Side};
use crate::proxy::seat::Standing;
use evenkeel_core::admission::Rejection;
use evenkeel_wire::command;
use evenkeel_wire::relay::{CommandKind, Step};

impl Relay {
    pub fn refuse(&mut self, rejection: Rejection, cx: &mut Context<'_>) -> Result<(), Refusal> {
        if let Step::Command(command) = self.commands.next(&self.held)? {
            self.commands.accept(&command);
        }
        self.refused = Some(rejection);
        self.discard(cx)
    }

    /// Whether what comes next belongs to a command that was refused.
    pub fn is_discarding(&self) -> bool {
        self.refused.is_some()
    }

    /// Throws away what is there of a refused command. Behind its end the error goes to the client.
    pub fn discard(&mut self, cx: &mut Context<'_>) -> Result<(), Refusal> {
        let mut gone = 0;
        while !self.commands.is_between() {
            let Step::Pass(count) = self.commands.next(&self.held[gone..])? else { break };
            gone += count;
        }
        self.held.drain(..gone);
        self.unpark();
        if !self.commands.is_between() {
            // What is left is the beginning of a header.
            self.look_again = false;
        } else if let Some(rejection) = self.refused.take() {
            self.send_refusal(rejection, cx);
        }
        Ok(())
    }

    fn send_refusal(&mut self, rejection: Rejection, cx: &mut Context<'_>) {
        cx.stats.refused.add();
        let mut out = Vec::new();
        Refusal::Gate(rejection).put(&mut out, self.commands.next_number(), true);
        cx.send(Side::Client, out);
        self.refusals += 1;
        self.paced = self.refusals >= TURN && !self.held.is_empty();
        self.parked |= self.paced;
    }

    /// Time has passed, and the client reads: more of what it said ahead may be looked at. False where nothing waits for
    /// that.
    pub fn takes_its_turn(&mut self) -> bool {
        let paced = std::mem::take(&mut self.paced);
        if paced {
            self.refusals = 0;
            self.unpark();
        }
        paced
    }
}

/// What to do when a client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    Close,
    /// Read on until the server has answered everything.
    Drain,
    /// The server waits for something that does not come: pass the end on to it, and wait for its own.
    EndServer,
}

impl Relay {
    /// The client has left: what becomes of its session. What it had not finished to say is never completed.
    pub fn leave(&mut self, cx: &mut Context<'_>) -> Leave {
        (self.held, self.parked) = (Vec::new(), true);
        if self.standing() == Some(Standing::Waiting) {
            self.permit = None;
        }
        let login_hangs = self.is_in_login();
        match () {
            () if self.commands.is_stream() => Leave::Close,
            // A goodbye may be incomplete, or be part of a file for the server: the end of the client is passed on too.
            () if self.quit || !self.commands.is_between() || login_hangs => Leave::EndServer,
            () if self.replies.pending() > 0 => Leave::Drain,
            () if self.permit.is_none() && !self.policy.hold().is_any() => Leave::Close,
            () => {
                cx.stats.resets.add();
                let mut reset = Vec::new();
                command::reset(&mut reset);
                cx.send(Side::Server, reset);
                self.replies.expect(CommandKind::ResetConnection);
                self.question = Some(Box::new(Question::Reset));
                Leave::Drain
            }
        }
    }
}
