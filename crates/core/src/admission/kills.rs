//! KILL QUERY for a session that waits: its server knows of no query, so that the gate has to end the wait.
//!
//! The server decides who may kill whom. While it does, the session is out of the queue, so that its statement cannot begin
//! meanwhile; a refusal puts it back where it was.

use super::tenant::{Kill, Session, Stage, Waiter};
use super::{Caller, Gate, Notice, Rejection, TenantId};
use crate::Nanos;

impl Gate {
    /// A KILL QUERY goes to the server, for its thread of this number. [`Gate::end_kill`] has to follow.
    pub fn begin_kill(&mut self, now: Nanos, killer: Caller, thread: u32) {
        if self.is_of_old(killer) || thread == 0 {
            return;
        }
        if let Some((tenant, ticket, waiter)) = self.tenants.of_thread(thread) {
            self.tenants.remove(tenant, ticket);
            self.kills.push(Kill { killer: killer.session, tenant, ticket, waiter });
            self.measure(now);
        }
    }

    /// The server has done it or refused to, or nobody will know.
    pub fn end_kill(&mut self, now: Nanos, killer: Caller, done: bool) {
        let Some(at) = self.kills.iter().position(|kill| kill.killer == killer.session) else { return };
        let Kill { tenant, ticket, waiter, .. } = self.kills.swap_remove(at);
        let stage = self.sessions.get(&waiter.session).map(|Session { stage, .. }| *stage);
        // It may have left, or got in without the queue, meanwhile.
        if !matches!(stage, Some(Stage::Waiting(its)) if its == ticket) {
            return;
        }
        if done {
            self.sessions.remove(&waiter.session);
            self.tenants.get(tenant).cancelled += 1;
            self.notices.push_back(Notice::Rejected(waiter.session, Rejection::Killed));
        } else {
            self.tenants.push(tenant, ticket, waiter);
            self.tenants.get(tenant).queued -= 1;
            self.fill(now);
        }
        self.measure(now);
    }

    /// Takes out who waits and is being killed.
    pub(super) fn killed_waiters(&mut self) -> Vec<(TenantId, Waiter)> {
        std::mem::take(&mut self.kills).into_iter().map(|kill| (kill.tenant, kill.waiter)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Admission, Options, SessionId};
    use super::*;

    fn notices(gate: &mut Gate) -> Vec<Notice> {
        std::iter::from_fn(|| gate.notice()).collect()
    }

    #[test]
    fn who_is_being_killed_is_not_admitted_before_that_is_known() {
        let (now, mut gate) = (Nanos::ZERO, Gate::new(1, Options::default()));
        let tenant = gate.tenant("shop");
        let by =
            |session: u32| Caller { session: SessionId(session.into()), tenant, server: 0, thread: session };
        let [runs, first, second, killer] = [1, 2, 3, 9].map(by);
        assert_eq!(gate.ask(now, runs), Admission::Admitted);
        assert_eq!((gate.ask(now, first), gate.ask(now, second)), (Admission::Queued, Admission::Queued));
        // Refused: it is where it was.
        gate.begin_kill(now, killer, 2);
        gate.end_kill(now, killer, false);
        assert_eq!((gate.waiting(), notices(&mut gate)), (2, vec![]));
        // Meanwhile a permit goes to the next one.
        gate.begin_kill(now, killer, 2);
        gate.cancel(now, runs);
        assert_eq!(notices(&mut gate), [Notice::Admitted(second.session, now)]);
        gate.end_kill(now, killer, true);
        assert_eq!(notices(&mut gate), [Notice::Rejected(first.session, Rejection::Killed)]);
        // One that left meanwhile is nobody's, and one whose server is gone is let through.
        assert_eq!(gate.ask(now, first), Admission::Queued);
        gate.begin_kill(now, killer, 2);
        gate.cancel(now, first);
        gate.end_kill(now, killer, true);
        assert_eq!((gate.waiting(), notices(&mut gate)), (0, vec![]));
        assert_eq!(gate.ask(now, first), Admission::Queued);
        gate.begin_kill(now, killer, 2);
        gate.new_server(now);
        assert_eq!(notices(&mut gate), [Notice::Admitted(first.session, now)]);
    }
}
