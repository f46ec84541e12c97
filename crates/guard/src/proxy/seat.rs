//! A session's standing with the gate: values that give back what they stand for when they are dropped.
//!
//! A permit that a path of the code forgets would close the gate a little for good. So nobody has to remember: a
//! session owns its permit, and whatever ends the session, a panic too, gives it back.

use evenkeel_core::Nanos;
use evenkeel_core::admission::{
    Admission, Caller, Ended, First, Held, Keeper, Notice, Rejection, SessionId, TenantId,
};
use evenkeel_core::gate::{Lane, Stand};
use std::sync::Arc;

/// The way to the keeper. Whoever goes it delivers what follows for other sessions.
pub trait Door: Send + Sync {
    /// Calls `act` once with the keeper of the gate and the time. Notices for sessions of the caller's own thread go to `own`
    /// where it is given; all others find their way by themselves.
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Keeper, Nanos));
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
    give_back: fn(&mut Keeper, Nanos, Caller),
}

impl Drop for Claim {
    fn drop(&mut self) {
        let (caller, give_back) = (self.caller, self.give_back);
        self.door.reach(None, &mut |keeper, now| give_back(keeper, now, caller));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It stands for a place in the queue.
    Waiting,
    /// Its transaction runs.
    Held,
    /// It runs one trifle, for which it has no place.
    Free,
    /// Its transaction is open, and does not use the server.
    Aside,
    /// It was given back.
    Over,
}

enum State {
    /// With what is known of what wants to run.
    Waiting(Stand, First),
    Held(Held),
    Over,
}

/// A permit, or a place in the queue for one. It goes back when it is dropped.
pub struct Permit {
    door: Arc<dyn Door>,
    caller: Caller,
    state: State,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let caller = self.caller;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Waiting(stand, _) => {
                self.door.reach(None, &mut |keeper, now| keeper.cancel(now, caller, stand));
            }
            State::Held(held) => self.door.reach(None, &mut |keeper, now| keeper.leave(now, caller, held)),
            State::Over => {}
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

    fn claim(&self, give_back: fn(&mut Keeper, Nanos, Caller)) -> Claim {
        Claim { door: Arc::clone(&self.door), caller: self.caller, give_back }
    }

    fn permit(&self, state: State) -> Permit {
        Permit { door: Arc::clone(&self.door), caller: self.caller, state }
    }

    /// What the server calls the session.
    pub fn thread(&self) -> u32 {
        self.caller.thread
    }

    /// Asks for a permit for a transaction that begins like this.
    pub fn ask(&self, first: First, own: &mut Vec<Notice>) -> Asked {
        let (caller, mut said) = (self.caller, None);
        self.door.reach(Some(own), &mut |keeper, now| said = Some(keeper.ask(now, caller, first)));
        match said {
            Some(Admission::Admitted(held)) => Asked::Permit(self.permit(State::Held(held))),
            Some(Admission::Queued(stand)) => Asked::Permit(self.permit(State::Waiting(stand, first))),
            Some(Admission::Rejected(rejection)) => Asked::Rejected(rejection),
            // A door that nobody goes through.
            None => Asked::Permit(self.permit(State::Over)),
        }
    }

    pub fn enter(&self, first: First, own: &mut Vec<Notice>) -> Permit {
        let (caller, mut state) = (self.caller, State::Over);
        self.door.reach(Some(own), &mut |keeper, now| state = State::Held(keeper.enter(now, caller, first)));
        self.permit(state)
    }

    /// Whether the session may pass the queue because of a named lock; as many may as the tenant's bound says.
    pub fn is_exempt(&mut self, own: &mut Vec<Notice>) -> bool {
        if self.exemption.is_none() {
            let (caller, mut granted) = (self.caller, false);
            self.door.reach(Some(own), &mut |keeper, _| granted = keeper.exempt(caller));
            self.exemption = granted.then(|| self.claim(|keeper, _, caller| keeper.unexempt(caller)));
        }
        self.exemption.is_some()
    }

    /// A KILL QUERY of its own goes to the server: who waits with that thread does not begin before it is answered.
    pub fn begin_kill(&mut self, thread: u32, own: &mut Vec<Notice>) {
        let caller = self.caller;
        self.door.reach(Some(own), &mut |keeper, now| keeper.begin_kill(now, caller, thread));
        self.kill = Some(self.claim(|keeper, now, caller| keeper.end_kill(now, caller, false)));
    }

    /// Whether a KILL QUERY of its own waits for its answer.
    pub fn kills(&self) -> bool {
        self.kill.is_some()
    }

    /// The server has done it: the wait ends too.
    pub fn has_killed(&mut self, own: &mut Vec<Notice>) {
        if let Some(kill) = &self.kill {
            let caller = kill.caller;
            self.door.reach(Some(own), &mut |keeper, now| keeper.end_kill(now, caller, true));
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
    /// Whether its transaction runs, waits, or stands aside.
    pub fn standing(&self) -> Standing {
        match &self.state {
            State::Waiting(..) => Standing::Waiting,
            State::Held(held) if held.place.aside => Standing::Aside,
            State::Held(held) if held.is_free() => Standing::Free,
            State::Held(_) => Standing::Held,
            State::Over => Standing::Over,
        }
    }

    /// The gate has let it out of the queue. It may have to wait in another one, or be refused there.
    pub fn admitted(&mut self, own: &mut Vec<Notice>) -> Option<Rejection> {
        let State::Waiting(stand, first) = self.state else { return None };
        let (caller, mut said) = (self.caller, None);
        self.door.reach(Some(own), &mut |keeper, now| {
            said = Some(keeper.admitted(now, caller, stand, first));
        });
        let mut refused = None;
        self.state = match said {
            Some(Admission::Admitted(held)) => State::Held(held),
            Some(Admission::Queued(stand)) => State::Waiting(stand, first),
            Some(Admission::Rejected(rejection)) => {
                refused = Some(rejection);
                State::Over
            }
            None => State::Over,
        };
        refused
    }

    /// The gate has taken its place in the queue away. False where it did not wait.
    pub fn rejected(&mut self, own: &mut Vec<Notice>) -> bool {
        let (session, waited) = (self.caller.session, self.standing() == Standing::Waiting);
        if waited {
            self.door.reach(Some(own), &mut |keeper, _| keeper.heard(session));
            self.state = State::Over;
        }
        waited
    }

    /// Does something with the place of a transaction that runs.
    fn act(&mut self, own: &mut Vec<Notice>, mut act: impl FnMut(&mut Keeper, Nanos, Caller, &mut Held)) {
        if let State::Held(held) = &mut self.state {
            let caller = self.caller;
            self.door.reach(Some(own), &mut |keeper, now| act(keeper, now, caller, held));
        }
    }

    /// Its session does not use the server: another may run. False where too many stand aside already.
    pub fn step_aside(&mut self, own: &mut Vec<Notice>) -> bool {
        self.act(own, |keeper, now, caller, held| {
            keeper.step_aside(now, caller, held);
        });
        self.standing() == Standing::Aside
    }

    /// Its session goes on, if need be above the limit.
    pub fn step_back(&mut self, own: &mut Vec<Notice>) {
        if self.standing() == Standing::Aside {
            self.act(own, |keeper, now, caller, held| keeper.step_back(now, caller, held));
        }
    }

    /// It has been at the server for so long, and runs in the long lane from now on.
    pub fn move_to_long(&mut self, busy: Nanos, own: &mut Vec<Notice>) {
        if matches!(&self.state, State::Held(held) if held.place.lane == Lane::Short) {
            self.act(own, |keeper, now, caller, held| keeper.move_to_long(now, caller, held, busy));
        }
    }

    /// It goes on in the long lane, as somebody has chosen.
    pub fn go_on_long(&mut self, own: &mut Vec<Notice>) {
        self.act(own, |keeper, now, caller, held| keeper.go_on_long(now, caller, held));
    }

    /// What an answer has changed: a transaction `ended`, and the permit goes on with the next one where it is `open`.
    pub fn settle(mut self, ended: Option<Ended>, open: bool, own: &mut Vec<Notice>) -> Option<Self> {
        self.act(own, |keeper, now, caller, held| {
            if let Some(ended) = ended {
                keeper.ended(now, caller, held, ended);
            }
            match open {
                true => keeper.hold(now, caller, held),
                false => keeper.leave(now, caller, *held),
            }
        });
        if open {
            return Some(self);
        }
        self.state = State::Over;
        None
    }
}
