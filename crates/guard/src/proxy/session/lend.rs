//! When a session lends its permit, and when it takes it back: what does not use the server must not close the gate to
//! those who would. Nor must what uses it without end: a permit is for a second, whether one statement takes that long
//! or a thousand of one transaction, and from there on it is with another.

use super::Context;
use super::relay::Relay;
use crate::proxy::seat::Standing;
use evenkeel_core::Nanos;
use evenkeel_core::admission::Loan;

impl Relay {
    /// What does not use the server lends its permit: an idle transaction, half a command, a client that does not
    /// read, a statement that sleeps or has outstayed its kind.
    pub fn lend(&mut self, client_blocked: Option<Nanos>, cx: &mut Context<'_>) {
        let long = |since: Nanos| cx.now - since >= cx.terms.plan.lend_after;
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
        if idle && self.lend_for(Loan::Idle, cx) {
            return;
        }
        let (statement, since) = (self.policy.at_server(), self.busy_since);
        let sleeps = statement.is_some_and(|statement| statement.idles);
        if sleeps && self.lend_for(Loan::Asleep { since }, cx) || self.lend_for_good(cx) {
            return;
        }
        if let Some(statement) = statement.filter(|_| !idle && !sleeps)
            && cx.now - since >= cx.kinds.patience(statement.digest)
        {
            self.lend_for(Loan::AtServer { since }, cx);
        }
    }

    /// Whether the server only has the rest of a result to send, of which the beginning is there, and nothing to do behind it.
    fn is_being_told(&self) -> bool {
        let single = self.policy.at_server().is_none_or(|statement| statement.single);
        self.replies.pending() == 1 && self.replies.has_begun() && single
    }

    /// A session that has had permits for so long lends until it gives the present one back, however short its statements
    /// are: each of them would take it back at once, and nobody else ever get it.
    pub(super) fn lend_for_good(&mut self, cx: &mut Context<'_>) -> bool {
        let length = self.tenure.length(cx.now);
        let outstayed = !self.stays_lent && length >= cx.terms.plan.tenure_max;
        self.stays_lent |= outstayed && self.lend_for(Loan::AtServer { since: cx.now - length }, cx);
        self.stays_lent
    }

    /// A statement that says itself that it will not use the server lends at once.
    pub(super) fn lend_to_sleep(&mut self, cx: &mut Context<'_>) {
        if self.policy.in_flight() == 1 && self.policy.at_server().is_some_and(|statement| statement.idles) {
            self.lend_for(Loan::Asleep { since: cx.now }, cx);
        }
    }

    /// Whether the permit is lent for that now.
    fn lend_for(&mut self, loan: Loan, cx: &mut Context<'_>) -> bool {
        let idles = loan == Loan::Idle;
        let Some(permit) = &mut self.permit else { return false };
        let may = match permit.standing() {
            Standing::Held => true,
            // Who pauses makes room for others who are on loan.
            Standing::Lent => self.stays_lent && idles,
            Standing::Waiting | Standing::Over => false,
        };
        let lent = may && permit.lend(loan, cx.notices);
        if lent {
            self.tenure.pauses(cx.now);
            (self.idles, self.stays_lent) = (idles, false);
        }
        lent
    }

    /// A permit that was lent comes back, if need be above the limit.
    pub(super) fn resume(&mut self, cx: &mut Context<'_>) {
        (self.idles, self.stays_lent) = (false, false);
        if let Some(permit) = &mut self.permit {
            permit.resume(cx.notices);
            self.tenure.goes_on(cx.now);
        }
    }

    /// The same for one that was lent because its client did not read: the server has gone on.
    pub(super) fn goes_on_reading(&mut self, cx: &mut Context<'_>) {
        if self.idles && self.replies.pending() > 0 {
            self.resume(cx);
        }
    }
}
