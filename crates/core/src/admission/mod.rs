//! What a proxy has beside the gate: figures for its controller, kinds of transactions, servers that follow each other.
//!
//! Time is an argument, and what follows for other sessions is left as [`Notice`]s. What a session has, its owner keeps ([`Held`],
//! [`Stand`]): idle connections cost nothing.
//! Only a failover takes places away, since they were at the server that is gone ([`Keeper::new_server`]).

mod census;
mod cost;
mod meter;
mod options;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod trifles;

use crate::Nanos;
use crate::gate::{Asked, AtFront, Gate, Kinds, Lane, Place, Seen, Stand};
pub use crate::gate::{Caller, First, LaneCensus, Notice, Rejection, SessionId, TenantCensus, TenantId};
pub use census::{Census, WaitReason};
pub use cost::Costs;
use meter::Meter;
pub use meter::{Ended, Interval, Outcome};
pub use options::Options;
use std::collections::BTreeSet;

/// A server that uses this share of its machine's CPU time in user mode makes progress, whatever ends.
const BUSY: f64 = 0.5;

/// What a transaction that runs has of the gate. It goes back by [`Keeper::leave`].
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub place: Place,
    /// Digest of its first statement, as long as something can be learnt about that; or 0.
    digest: u64,
    since: Nanos,
    /// A trifle, which runs without a place.
    free: bool,
}

impl Held {
    /// Of one that was admitted now.
    pub fn new(lane: Lane, digest: u64, now: Nanos) -> Self {
        Self { place: Place { lane, ..Place::default() }, digest, since: now, free: false }
    }
}

/// What came of asking.
#[derive(Clone, Copy, Debug)]
pub enum Admission {
    Admitted(Held),
    Queued(Stand),
    /// The transaction is refused.
    Rejected(Rejection),
}

/// Whoever keeps the gate.
#[derive(Debug)]
pub struct Keeper {
    options: Options,
    gate: Gate,
    /// Counts servers that were behind the gate, one after the other.
    server: u32,
    kinds: Kinds,
    meter: Meter,
    costs: Costs,
    /// Sessions that were refused and have not heard of it.
    refused: BTreeSet<SessionId>,
    /// The server uses its CPUs.
    busy: bool,
    unqueued_total: u64,
    would_have_queued: u64,
}

impl Keeper {
    /// Of a gate with these limits of its lanes; zero is one.
    pub fn new(limits: [usize; 2], options: Options) -> Self {
        Self {
            options,
            gate: Gate::new(limits, options.gate()),
            server: 0,
            kinds: Kinds::default(),
            meter: Meter::default(),
            costs: Costs::default(),
            refused: BTreeSet::new(),
            busy: false,
            unqueued_total: 0,
            would_have_queued: 0,
        }
    }

    /// The tenant of this name. Beyond 1,023 names the rest share one.
    pub fn tenant(&mut self, name: &str) -> TenantId {
        self.gate.tenant(name)
    }

    /// The tenant's share of admissions while others wait too, from now on.
    pub fn set_weight(&mut self, tenant: TenantId, weight: u32) {
        self.gate.set_weight(tenant, weight);
    }

    /// New options; who waits or runs goes on.
    pub fn set_options(&mut self, now: Nanos, options: Options) {
        self.options = options;
        self.gate.set_options(now, options.gate());
        self.measure(now);
    }

    /// A new limit, at least one. Nobody who runs is stopped.
    pub fn set_limit(&mut self, now: Nanos, lane: Lane, limit: usize) {
        self.gate.set_limit(now, lane, limit);
        self.measure(now);
    }

    pub fn limit(&self, lane: Lane) -> usize {
        self.gate.limit(lane)
    }

    /// The share of its machine's CPU time that the server uses in user mode, where that is known.
    pub fn set_cpu(&mut self, share: Option<f64>) {
        self.busy = share.is_some_and(|share| share >= BUSY);
    }

    /// From when on a transaction is long, and one that does not use the server stands aside.
    pub fn long_from(&self) -> Nanos {
        self.kinds.threshold().max(self.options.long_min)
    }

    /// A session wants to start a transaction, which begins like this.
    pub fn ask(&mut self, now: Nanos, caller: Caller, first: impl Into<First>) -> Admission {
        let First { digest, lane, reads } = first.into();
        if reads && lane != Some(Lane::Long) && self.kinds.is_trifle(digest) && !self.is_of_old(caller) {
            return Admission::Admitted(self.admit_free(now, caller, digest));
        }
        let lane = lane.unwrap_or_else(|| self.kinds.lane(digest));
        if self.is_of_old(caller) {
            return Admission::Admitted(Held::new(lane, digest, now));
        }
        let asked = match self.gate.fronts()[lane as usize].enter() {
            AtFront::Shut => self.gate.ask(now, lane, caller),
            found => {
                self.would_have_queued += u64::from(found == AtFront::WouldWait);
                self.gate.tenants.get(caller.tenant).admit(Nanos::ZERO);
                Asked::Admitted(Place { lane, ..Place::default() })
            }
        };
        self.measure(now);
        match asked {
            Asked::Admitted(_) => Admission::Admitted(Held::new(lane, digest, now)),
            Asked::Queued(stand) => Admission::Queued(stand),
            Asked::Rejected(rejection) => {
                self.meter.rejected();
                Admission::Rejected(rejection)
            }
        }
    }

    /// A session has left the queue. A kind that has turned out to be long while it waited for a short place waits on for a long one.
    pub fn admitted(&mut self, now: Nanos, caller: Caller, stand: Stand, first: First) -> Admission {
        let held = Held::new(stand.lane, first.digest, now);
        let learnt = first.lane.unwrap_or_else(|| self.kinds.lane(first.digest));
        let turned = stand.lane == Lane::Short && learnt == Lane::Long;
        if !turned || self.is_of_old(caller) {
            return Admission::Admitted(held);
        }
        self.leave(now, caller, held);
        self.ask(now, caller, first)
    }

    /// A session that may hold what others wait for starts a transaction: it never queues.
    pub fn enter(&mut self, now: Nanos, caller: Caller, first: impl Into<First>) -> Held {
        let First { digest, lane, .. } = first.into();
        let lane = lane.unwrap_or_else(|| self.kinds.lane(digest));
        if !self.is_of_old(caller) {
            self.gate.enter(lane);
            self.gate.tenants.get(caller.tenant).admit(Nanos::ZERO);
            self.unqueued_total += 1;
            self.measure(now);
        }
        Held::new(lane, digest, now)
    }

    /// A transaction has ended; its place is for the next one of its session, or goes back by [`Keeper::leave`].
    pub fn ended(&mut self, now: Nanos, caller: Caller, held: &mut Held, ended: Ended) {
        let Ended { outcome, digest, busy } = ended;
        let response = now - std::mem::replace(&mut held.since, now);
        let first = std::mem::take(&mut held.digest);
        if self.is_of_old(caller) {
            return;
        }
        if outcome != Outcome::Ignored {
            self.kinds.took(Kinds::bucket(busy), 1);
            self.learn(first, busy, busy >= self.long_from());
        }
        match (outcome, held.place) {
            (_, Place { lane: Lane::Long, .. } | Place { aside: true, .. }) => {
                self.meter.ended_long(outcome, response);
            }
            (Outcome::Success, _) if held.free => self.meter.trifle(response),
            (Outcome::Success, _) => {
                let work = self.costs.weigh(digest, busy);
                self.meter.ended(outcome, response, work);
            }
            _ => self.meter.ended(outcome, response, 0.0),
        }
    }

    fn learn(&mut self, digest: u64, busy: Nanos, long: bool) {
        let seen = Seen { count: 1, long: u32::from(long), floor_s: busy.as_secs_f64() };
        self.kinds.learn(digest, seen);
    }

    /// The place goes on to the next one.
    pub fn leave(&mut self, now: Nanos, caller: Caller, held: Held) {
        if !self.is_of_old(caller) {
            if !held.free {
                self.gate.leave(now, held.place);
            }
            self.gate.tenants.get(caller.tenant).ended += 1;
            self.measure(now);
        }
    }

    /// A session that waited is gone. It may have been admitted or refused, and not have heard of it.
    pub fn cancel(&mut self, now: Nanos, caller: Caller, stand: Stand) {
        if self.is_of_old(caller) || self.gate.cancel(now, stand) || self.refused.remove(&caller.session) {
            return self.measure(now);
        }
        self.leave(now, caller, Held::new(stand.lane, 0, now));
    }

    /// A session has heard that it was refused.
    pub fn heard(&mut self, session: SessionId) {
        self.refused.remove(&session);
    }

    /// What runs does not use the server for now. False where as many do so as may.
    pub fn step_aside(&mut self, now: Nanos, caller: Caller, held: &mut Held) -> bool {
        let done = !self.is_of_old(caller) && !held.free && self.gate.step_aside(now, &mut held.place);
        self.measure(now);
        done
    }

    /// It uses the server again, if need be above the limit.
    pub fn step_back(&mut self, now: Nanos, caller: Caller, held: &mut Held) {
        match self.is_of_old(caller) {
            true => held.place.aside = false,
            false => self.gate.step_back(&mut held.place),
        }
        self.measure(now);
    }

    /// What runs has been at the server for so long: where that is long for its kind, it goes on in the long lane, and others of
    /// its kind begin there.
    pub fn move_to_long(&mut self, now: Nanos, caller: Caller, held: &mut Held, busy: Nanos) {
        let long = held.place.lane == Lane::Short && busy >= self.kinds.patience(held.digest);
        if long && !self.is_of_old(caller) {
            self.hold(now, caller, held);
            self.gate.move_to_long(now, &mut held.place);
            let digest = std::mem::take(&mut held.digest);
            self.learn(digest, busy, true);
            self.measure(now);
        }
    }

    /// Somebody has chosen the long lane for what runs.
    pub fn go_on_long(&mut self, now: Nanos, caller: Caller, held: &mut Held) {
        if !self.is_of_old(caller) {
            self.gate.move_to_long(now, &mut held.place);
            self.measure(now);
        }
    }

    /// A KILL QUERY goes to the server, for its thread of this number. [`Keeper::end_kill`] has to follow.
    pub fn begin_kill(&mut self, now: Nanos, killer: Caller, thread: u32) {
        if !self.is_of_old(killer) {
            self.gate.begin_kill(now, killer.session, thread);
            self.measure(now);
        }
    }

    /// The server has done it or refused to, or nobody will know.
    pub fn end_kill(&mut self, now: Nanos, killer: Caller, done: bool) {
        self.gate.end_kill(now, killer.session, done);
        self.measure(now);
    }

    /// What time alone brings about: waits that end, the liveness rule. Call it some ten times a second.
    pub fn tick(&mut self, now: Nanos) {
        self.kinds.tick();
        if let Some(bound) = self.options.wait_max {
            self.gate.reject_overdue(now, bound);
        }
        if !self.busy {
            Lane::ALL.iter().for_each(|lane| self.gate.keep_alive(now, *lane, self.options.liveness_min));
        }
        self.measure(now);
    }

    pub fn notice(&mut self) -> Option<Notice> {
        let notice = self.gate.notice();
        if let Some(Notice::Rejected(session, rejection)) = notice {
            self.refused.insert(session);
            if rejection != Rejection::Killed {
                self.meter.rejected();
            }
        }
        notice
    }

    /// Figures of the short lane since the last call.
    pub fn take_interval(&mut self, now: Nanos) -> Interval {
        self.meter.take(now)
    }

    fn measure(&mut self, now: Nanos) {
        self.meter.level(now, self.gate.running(Lane::Short), self.gate.waiting(Lane::Short));
    }

    /// The number of the server behind the gate, for the [`Caller`]s whose connections lead there.
    pub fn server(&self) -> u32 {
        self.server
    }

    /// A new server is behind the gate; its number. Whatever runs or is exempt is at the old one, and counts no more. Who waits
    /// would go to the old one too: it is let through, and is not counted there.
    pub fn new_server(&mut self, now: Nanos) -> u32 {
        self.server = self.server.wrapping_add(1);
        self.gate.new_server(now);
        self.refused.clear();
        for tenant in self.gate.tenants.all() {
            (tenant.ended, tenant.exempt) = (tenant.admitted, 0);
        }
        self.measure(now);
        self.server
    }

    /// Whether the session's connection leads to a server that is not the present one.
    fn is_of_old(&self, caller: Caller) -> bool {
        caller.server != self.server
    }

    /// Most sessions of a tenant that may be exempt now: as many as may run, so that a tenant's exempt sessions cannot be
    /// a multiple of the limit. Those that are exempt already stay so.
    pub fn named_max(&self) -> usize {
        self.options.named_max.min(self.limit(Lane::Short).max(self.options.named_min))
    }

    /// A session has no open transaction, and holds locks by what its texts say: whether it may pass the queue for that. Once for a
    /// session; [`Keeper::unexempt`] ends it.
    pub fn exempt(&mut self, caller: Caller) -> bool {
        if self.is_of_old(caller) {
            return true;
        }
        let (most, dry_run) = (self.named_max(), self.options.dry_run);
        let tenant = self.gate.tenants.get(caller.tenant);
        let room = tenant.exempt < most || dry_run;
        tenant.exempt += usize::from(room);
        tenant.exempt_refused += u64::from(!room);
        room
    }

    /// An exempted session holds something else too, or nothing any more, or is gone.
    pub fn unexempt(&mut self, caller: Caller) {
        if !self.is_of_old(caller) {
            let tenant = self.gate.tenants.get(caller.tenant);
            tenant.exempt = tenant.exempt.saturating_sub(1);
        }
    }
}
