//! When a session makes room for others: what does not use the server stands aside, what uses it for long moves to the long lane.

use super::Context;
use super::relay::Relay;
use crate::proxy::seat::{Permit, Standing};
use evenkeel_core::Nanos;

impl Relay {
    /// Time has passed. An idle transaction, half a command, a client that does not read and a statement that sleeps stand
    /// aside; what has been at the server for long is long.
    pub fn make_room(&mut self, client_blocked: Option<Nanos>, cx: &mut Context<'_>) {
        let long = |since: Nanos| cx.now - since >= cx.long_from;
        let quiet = self.replies.pending() == 0 && self.question.is_none();
        // The server works on the command before where more than the half one wait for an answer.
        let half = !self.commands.is_between() && self.replies.pending() <= usize::from(self.answered);
        let idle = match () {
            () if self.is_in_login() => long(self.busy_since),
            // Nothing of it is at the server: half a head, however slowly it grows, is a pause like any other.
            () if quiet => !self.parked && long(self.idle_since),
            () if half => !self.parked && long(self.heard),
            // Behind the result that nobody reads the server may work on the next, and so it may behind the one before.
            () => client_blocked.is_some_and(long) && self.is_being_told(),
        };
        let sleeps = self.policy.at_server().is_some_and(|statement| statement.idles);
        let aside = (idle || sleeps) && self.step_aside(idle, cx);
        if aside || idle || self.standing() == Some(Standing::Aside) {
            return;
        }
        let used = self.used + if quiet { Nanos::ZERO } else { cx.now - self.busy_since };
        if let Some(permit) = self.permit.as_mut().filter(|_| used >= cx.long_from) {
            permit.move_to_long(used, cx.notices);
        }
    }

    /// Whether the server only has the rest of a result to send, of which the beginning is there, and nothing to do behind it.
    fn is_being_told(&self) -> bool {
        let single = self.policy.at_server().is_none_or(|statement| statement.single);
        self.replies.pending() == 1 && self.replies.has_begun() && single
    }

    /// A statement that says itself that it will not use the server stands aside at once.
    pub(super) fn sleep(&mut self, cx: &mut Context<'_>) {
        if self.policy.in_flight() == 1 && self.policy.at_server().is_some_and(|statement| statement.idles) {
            self.step_aside(false, cx);
        }
    }

    /// Whether it stands aside now.
    fn step_aside(&mut self, idle: bool, cx: &mut Context<'_>) -> bool {
        let Some(permit) = self.permit.as_mut().filter(|permit| permit.standing() == Standing::Held) else {
            return self.standing() == Some(Standing::Aside);
        };
        let done = permit.step_aside(cx.notices);
        self.idles = done && idle;
        done
    }

    /// It uses the server again.
    pub(super) fn step_back(&mut self, cx: &mut Context<'_>) {
        self.idles = false;
        if let Some(permit) = &mut self.permit {
            Permit::step_back(permit, cx.notices);
        }
    }

    /// The same for one whose client did not read: the server has gone on.
    pub(super) fn goes_on_reading(&mut self, cx: &mut Context<'_>) {
        if self.idles && self.replies.pending() > 0 {
            self.step_back(cx);
            // The time in which nobody read is nobody's work, but a login's.
            self.busy_since = if self.is_in_login() { self.busy_since } else { cx.now };
        }
    }
}
