//! A session's standing with the gate: values that give back what they stand for when they are dropped.
//!
//! A permit that a path of the code forgets would close the gate a little for good. So nobody has to remember: a
//! session owns its permit, and whatever ends the session, a panic too, gives it back.

use evenkeel_core::Nanos;
use evenkeel_core::admission::{
    Admission, Caller, Ended, Gate, Loan, Notice, Rejection, SessionId, TenantId,
};
use std::sync::Arc;

/// The way to the gate. Whoever goes it delivers what follows for other sessions.
pub trait Door: Send + Sync {
    /// Calls `act` once with the gate and the time. Notices for sessions of the caller's own thread go to `own`
    /// where it is given; all others find their way by themselves.
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Gate, Nanos));
}

/// A session's place at the gate, from its login on.
pub struct Seat {
    door: Arc<dyn Door>,
    caller: Caller,
    /// Leave to pass the queue for the sake of a named lock.
    exemption: Option<Claim>,
    /// A KILL QUERY of its own that the server has not answered; where it is dropped, nobody is killed.
    kill: Option<Claim>,
}

/// What a session has of the gate beside its permit; it goes back when it is dropped.
struct Claim {
    door: Arc<dyn Door>,
    caller: Caller,
    give_back: fn(&mut Gate, Nanos, Caller),
}

impl Drop for Claim {
    fn drop(&mut self) {
        let (caller, give_back) = (self.caller, self.give_back);
        self.door.reach(None, &mut |gate, now| give_back(gate, now, caller));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It stands for a place in the queue.
    Waiting,
    /// Its transaction runs.
    Held,
    /// Its transaction is open, and another runs in its place.
    Lent,
    /// It was given back.
    Over,
}

/// A permit, or a place in the queue for one. It goes back when it is dropped.
pub struct Permit {
    door: Arc<dyn Door>,
    caller: Caller,
    standing: Standing,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.standing != Standing::Over {
            let caller = self.caller;
            self.door.reach(None, &mut |gate, now| gate.cancel(now, caller));
        }
    }
}

/// What came of asking for a permit.
pub enum Asked {
    /// It may run, or waits.
    Permit(Permit),
    /// The transaction is refused.
    Rejected(Rejection),
}

impl Seat {
    /// Of a session whose connection leads to that server, and to its thread of this number.
    pub fn new(
        door: Arc<dyn Door>,
        session: SessionId,
        tenant: TenantId,
        (server, thread): (u32, u32),
    ) -> Self {
        Self { door, caller: Caller { session, tenant, server, thread }, exemption: None, kill: None }
    }

    pub fn set_tenant(&mut self, tenant: TenantId) {
        self.exemption = None;
        self.caller.tenant = tenant;
    }

    pub fn server(&self) -> u32 {
        self.caller.server
    }

    /// It counts at that server from now on.
    pub fn count_at(&mut self, server: u32) {
        self.exemption = None;
        self.caller.server = server;
    }

    fn claim(&self, give_back: fn(&mut Gate, Nanos, Caller)) -> Claim {
        Claim { door: Arc::clone(&self.door), caller: self.caller, give_back }
    }

    fn permit(&self, standing: Standing) -> Permit {
        Permit { door: Arc::clone(&self.door), caller: self.caller, standing }
    }

    pub fn ask(&self, own: &mut Vec<Notice>) -> Asked {
        let (caller, mut said) = (self.caller, Admission::Queued);
        self.door.reach(Some(own), &mut |gate, now| said = gate.ask(now, caller));
        match said {
            Admission::Admitted => Asked::Permit(self.permit(Standing::Held)),
            Admission::Queued => Asked::Permit(self.permit(Standing::Waiting)),
            Admission::Rejected(rejection) => Asked::Rejected(rejection),
        }
    }

    pub fn enter(&self, own: &mut Vec<Notice>) -> Permit {
        let caller = self.caller;
        self.door.reach(Some(own), &mut |gate, now| gate.enter(now, caller));
        self.permit(Standing::Held)
    }

    /// Whether the session may pass the queue because of a named lock; as many may as the tenant's bound says.
    pub fn is_exempt(&mut self, own: &mut Vec<Notice>) -> bool {
        if self.exemption.is_none() {
            let (caller, mut granted) = (self.caller, false);
            self.door.reach(Some(own), &mut |gate, _| granted = gate.exempt(caller));
            self.exemption = granted.then(|| self.claim(|gate, _, caller| gate.unexempt(caller)));
        }
        self.exemption.is_some()
    }

    /// A KILL QUERY of its own goes to the server: who waits with that thread does not begin before it is answered.
    pub fn begin_kill(&mut self, thread: u32, own: &mut Vec<Notice>) {
        let caller = self.caller;
        self.door.reach(Some(own), &mut |gate, now| gate.begin_kill(now, caller, thread));
        self.kill = Some(self.claim(|gate, now, caller| gate.end_kill(now, caller, false)));
    }

    /// Whether a KILL QUERY of its own waits for its answer.
    pub fn kills(&self) -> bool {
        self.kill.is_some()
    }

    /// The server has done it: the wait ends too.
    pub fn has_killed(&mut self, own: &mut Vec<Notice>) {
        if let Some(kill) = &self.kill {
            let caller = kill.caller;
            self.door.reach(Some(own), &mut |gate, now| gate.end_kill(now, caller, true));
        }
        self.kill = None;
    }

    /// The server has refused it.
    pub fn has_not_killed(&mut self) {
        self.kill = None;
    }

    /// The session holds no named lock any more, or something else too.
    pub fn end_exemption(&mut self) {
        self.exemption = None;
    }
}

impl Permit {
    /// Whether its transaction runs, waits, or has lent the permit.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// The gate has let it out of the queue. False where it did not wait.
    pub fn admitted(&mut self) -> bool {
        let waited = self.standing == Standing::Waiting;
        if waited {
            self.standing = Standing::Held;
        }
        waited
    }

    /// The gate has taken its place in the queue away. False where it did not wait.
    pub fn rejected(&mut self) -> bool {
        let waited = self.standing == Standing::Waiting;
        if waited {
            self.standing = Standing::Over;
        }
        waited
    }

    /// Its session is not using the server: another may run. False where too many have lent already.
    pub fn lend(&mut self, loan: Loan, own: &mut Vec<Notice>) -> bool {
        let (caller, mut lent) = (self.caller, false);
        self.door.reach(Some(own), &mut |gate, now| lent = gate.lend(now, caller, loan));
        if lent {
            self.standing = Standing::Lent;
        }
        lent
    }

    /// Its session goes on, if need be above the limit.
    pub fn resume(&mut self, own: &mut Vec<Notice>) {
        if self.standing == Standing::Lent {
            let caller = self.caller;
            self.door.reach(Some(own), &mut |gate, now| gate.resume(now, caller));
            self.standing = Standing::Held;
        }
    }

    /// What an answer has changed: a transaction `ended`, and the permit goes on with the next one where it is `open`.
    pub fn settle(mut self, ended: Option<Ended>, open: bool, own: &mut Vec<Notice>) -> Option<Self> {
        let caller = self.caller;
        self.door.reach(Some(own), &mut |gate, now| gate.settle(now, caller, ended, open));
        if open {
            return Some(self);
        }
        self.standing = Standing::Over;
        None
    }
}

/// For how long a session has had permits since it stood in line for one: also one after the other, where it holds what
/// lets it pass the queue. The time of loans does not count, in which others ran.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tenure {
    before: Nanos,
    since: Option<Nanos>,
}

impl Tenure {
    /// The session has a permit.
    pub fn goes_on(&mut self, now: Nanos) {
        self.since.get_or_insert(now);
    }

    /// It has none, or has lent it.
    pub fn pauses(&mut self, now: Nanos) {
        if let Some(since) = self.since.take() {
            self.before += now - since;
        }
    }

    /// How long that is by now.
    pub fn length(&self, now: Nanos) -> Nanos {
        self.before + self.since.map_or(Nanos::ZERO, |since| now - since)
    }
}
