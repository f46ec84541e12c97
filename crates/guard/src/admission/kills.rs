//! KILL QUERY for a session that waits: its server knows of no query, so that the gate has to end the wait.

use super::{Caller, Gate, Notice, Rejection};
use evenkeel_core::Nanos;

impl Gate {
    /// The server, which decides who may kill whom, has done a KILL QUERY for its thread of this number. A statement that
    /// began meanwhile is the server's, as one that comes behind a KILL always was.
    pub fn killed(&mut self, now: Nanos, killer: Caller, thread: u32) {
        if self.is_of_old(killer) || thread == 0 {
            return;
        }
        let Some((tenant, ticket, session)) = self.tenants.of_thread(thread) else { return };
        self.tenants.remove(tenant, ticket);
        self.tenants.get(tenant).cancelled += 1;
        self.sessions.remove(&session);
        self.notices.push_back(Notice::Rejected(session, Rejection::Killed));
        self.measure(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Admission, Options, SessionId};
    use super::*;

    #[test]
    fn who_waits_and_is_killed_is_out_of_the_queue_and_nobody_else_is() {
        let (now, mut gate) = (Nanos::ZERO, Gate::new(1, Options::default()));
        let tenant = gate.tenant("shop");
        let by =
            |session: u32| Caller { session: SessionId(session.into()), tenant, server: 0, thread: session };
        let [runs, first, second, killer] = [1, 2, 3, 9].map(by);
        assert_eq!(gate.ask(now, runs), Admission::Admitted);
        assert_eq!((gate.ask(now, first), gate.ask(now, second)), (Admission::Queued, Admission::Queued));
        for (killer, thread) in [(killer, 1), (killer, 7), (Caller { server: 7, ..killer }, 2), (killer, 2)] {
            gate.killed(now, killer, thread);
        }
        gate.cancel(now, runs);
        let notices: Vec<Notice> = std::iter::from_fn(|| gate.notice()).collect();
        let killed = Notice::Rejected(first.session, Rejection::Killed);
        assert_eq!(notices, [killed, Notice::Admitted(second.session, now)]);
    }
}
