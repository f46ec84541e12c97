//! When a session lends its permit, and when it takes it back: what does not use the server must not close the gate to
//! those who would.

use super::Context;
use super::relay::Relay;
use crate::admission::Loan;
use crate::guard::seat::Standing;
use evenkeel_core::Nanos;

impl Relay {
    /// What does not use the server lends its permit: an idle transaction, half a command, a client that does not
    /// read, a statement that sleeps or has outstayed its kind.
    pub fn lend(&mut self, client_blocked: Option<Nanos>, cx: &mut Context<'_>) {
        let long = |since: Nanos| cx.now - since >= cx.terms.plan.lend_after;
        let quiet = self.replies.pending() == 0 && self.question.is_none();
        let half = !self.commands.is_between() && self.replies.pending() <= 1;
        let idle = match () {
            () if self.is_in_login() => long(self.busy_since),
            // Nothing of it is at the server: half a head, however slowly it grows, is a pause like any other.
            () if quiet => !self.parked && long(self.idle_since),
            () if half => !self.parked && long(self.heard),
            () => client_blocked.is_some_and(long),
        };
        if idle {
            return self.lend_for(Loan::Idle, cx);
        }
        let Some(statement) = self.policy.at_server() else { return };
        let since = self.busy_since;
        if statement.idles {
            self.lend_for(Loan::Asleep { since }, cx);
        } else if cx.now - since >= cx.kinds.patience(statement.digest) {
            self.lend_for(Loan::AtServer { since }, cx);
        }
    }

    /// A statement that says itself that it will not use the server lends at once.
    pub(super) fn lend_to_sleep(&mut self, cx: &mut Context<'_>) {
        if self.policy.in_flight() == 1 && self.policy.at_server().is_some_and(|statement| statement.idles) {
            self.lend_for(Loan::Asleep { since: cx.now }, cx);
        }
    }

    fn lend_for(&mut self, loan: Loan, cx: &mut Context<'_>) {
        let Some(permit) = &mut self.permit else { return };
        if permit.standing() == Standing::Held && permit.lend(loan, cx.notices) {
            self.idles = matches!(loan, Loan::Idle);
        }
    }

    /// A permit that was lent comes back, if need be above the limit.
    pub(super) fn resume(&mut self, cx: &mut Context<'_>) {
        self.idles = false;
        if let Some(permit) = &mut self.permit {
            permit.resume(cx.notices);
        }
    }

    /// The same for one that was lent because its client did not read: the server has gone on.
    pub(super) fn goes_on_reading(&mut self, cx: &mut Context<'_>) {
        if self.idles && self.replies.pending() > 0 {
            self.resume(cx);
        }
    }
}
