//! KILL QUERY for a session that waits: its server knows of no query, so that the gate has to end the wait.
//!
//! The server decides who may kill whom. While it does, the session is out of the queue, so that its statement cannot begin
//! meanwhile; a refusal puts it back where it was.

use super::{Gate, Kill, Lane, Notice, Rejection, SessionId, Stand};
use crate::Nanos;

impl Gate {
    /// A KILL QUERY goes to the server, for its thread of this number. [`Gate::end_kill`] has to follow.
    pub fn begin_kill(&mut self, now: Nanos, killer: SessionId, thread: u32) {
        // Two may be at it at once, and the server refuse one of them.
        if let Some(kill) = self.kills.iter_mut().find(|kill| kill.waiter.thread == thread) {
            return kill.killers.push(killer);
        }
        let waiters = |lane: Lane| self.line(lane).waiters().map(move |found| (lane, found));
        let found = Lane::ALL.into_iter().flat_map(waiters).find(|(_, (.., w))| w.thread == thread);
        if let Some((lane, (tenant, ticket, waiter))) = found.filter(|_| thread != 0) {
            self.queues[lane as usize].line.remove(tenant, ticket);
            let killers = vec![killer];
            self.kills.push(Kill { killers, stand: Stand { lane, tenant, ticket }, waiter });
            self.fill(now, lane);
        }
    }

    /// The server has done it or refused to, or nobody will know.
    pub fn end_kill(&mut self, now: Nanos, killer: SessionId, done: bool) {
        let Some(at) = self.kills.iter().position(|kill| kill.killers.contains(&killer)) else { return };
        self.kills[at].killers.retain(|one| *one != killer);
        if !done && !self.kills[at].killers.is_empty() {
            return;
        }
        let Kill { stand: Stand { lane, tenant, ticket }, waiter, .. } = self.kills.swap_remove(at);
        if done {
            self.tenants.get(tenant).cancelled += 1;
            self.notices.push_back(Notice::Rejected(waiter.session, Rejection::Killed));
        } else {
            self.fronts[lane as usize].set_shut(true);
            self.queues[lane as usize].line.push(tenant, ticket, waiter);
            self.fill(now, lane);
        }
    }

    /// Sessions that wait out of the queue, until the server has answered a KILL QUERY for them.
    pub fn being_killed(&self) -> usize {
        self.kills.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asked, Caller, Options};
    use super::*;

    fn notices(gate: &mut Gate) -> Vec<Notice> {
        std::iter::from_fn(|| gate.notice()).collect()
    }

    fn waits(gate: &mut Gate, session: u64) -> Stand {
        let tenant = gate.tenant("shop");
        let caller = Caller { session: SessionId(session), tenant, server: 0, thread: session as u32 };
        let Asked::Queued(stand) = gate.ask(Nanos::ZERO, Lane::Short, caller) else {
            panic!("it has to wait")
        };
        stand
    }

    #[test]
    fn of_two_that_kill_the_same_one_it_takes_one_that_may() {
        let (now, killers) = (Nanos::ZERO, [SessionId(8), SessionId(9)]);
        for done in [[false, true], [true, false]] {
            let mut gate = Gate::new([1, 1], Options::default());
            gate.enter(Lane::Short);
            waits(&mut gate, 2);
            killers.iter().for_each(|killer| gate.begin_kill(now, *killer, 2));
            killers.iter().zip(done).for_each(|(killer, done)| gate.end_kill(now, *killer, done));
            assert_eq!(notices(&mut gate), [Notice::Rejected(SessionId(2), Rejection::Killed)]);
            assert_eq!((gate.waiting(Lane::Short), gate.being_killed()), (0, 0));
        }
    }

    #[test]
    fn who_is_being_killed_is_not_admitted_before_that_is_known() {
        let (now, killer) = (Nanos::ZERO, SessionId(9));
        let mut gate = Gate::new([1, 1], Options::default());
        let place = gate.enter(Lane::Short);
        let (first, second) = (waits(&mut gate, 2), waits(&mut gate, 3));
        // Refused: it is where it was.
        gate.begin_kill(now, killer, 2);
        gate.end_kill(now, killer, false);
        assert_eq!((gate.waiting(Lane::Short), notices(&mut gate)), (2, vec![]));
        // Meanwhile a place goes to the next one.
        gate.begin_kill(now, killer, 2);
        gate.leave(now, place);
        assert_eq!(notices(&mut gate), [Notice::Admitted(SessionId(3), now)]);
        assert!(!gate.cancel(now, second), "it has its place");
        gate.end_kill(now, killer, true);
        assert_eq!(notices(&mut gate), [Notice::Rejected(SessionId(2), Rejection::Killed)]);
        assert!(!gate.cancel(now, first));
        // One that left meanwhile is nobody's; one that was spared comes in where a place is free.
        let left = waits(&mut gate, 4);
        gate.begin_kill(now, killer, 4);
        assert!(gate.cancel(now, left));
        gate.end_kill(now, killer, false);
        assert_eq!((gate.waiting(Lane::Short), notices(&mut gate)), (0, vec![]));
        waits(&mut gate, 5);
        gate.begin_kill(now, killer, 5);
        gate.leave(now, place);
        gate.end_kill(now, killer, false);
        assert_eq!(notices(&mut gate), [Notice::Admitted(SessionId(5), now)]);
        // One whose server is gone is let through.
        waits(&mut gate, 6);
        gate.begin_kill(now, killer, 6);
        gate.new_server(now);
        assert_eq!(notices(&mut gate), [Notice::Admitted(SessionId(6), now)]);
    }
}
