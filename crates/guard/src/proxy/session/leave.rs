//! The client has left in the middle of whatever it did: what has to happen before its session can go.

use super::relay::{Question, Relay};
use super::{Context, Side};
use crate::proxy::seat::Standing;
use evenkeel_wire::command;
use evenkeel_wire::relay::CommandKind;

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
