//! Commands that the gate has refused: the client gets an error, and its session goes on. A command may be larger than what is
//! kept of it, so that the rest is thrown away as it comes in; and a client may have said thousands of them ahead, so that
//! it gets a few errors at a time, and only while it reads them.

use super::relay::{Relay, TURN};
use super::{Context, Refusal, Side};
use crate::admission::Rejection;
use evenkeel_wire::relay::Step;

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
