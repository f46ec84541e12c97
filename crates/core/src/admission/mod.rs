//! The gate, which decides which transactions may run: permits, queues, loans.
//!
//! It is pure: time is an argument, and what follows from a call for other sessions is left in a list of
//! [`Notice`]s that the caller takes out. A session is known here only while it waits or runs, so that idle
//! connections cost nothing.
//!
//! In flight at any moment are at most as many transactions as the largest limit at which one of them was admitted, plus
//! loans, plus those that the liveness rule let in, plus those that may not queue ([`Gate::enter`]). No call takes a permit
//! away: under a lower limit nobody new comes in. Only a failover takes transactions out of the count, since they were at
//! the server that is gone ([`Gate::new_server`]).

mod census;
mod cost;
mod kills;
mod loans;
mod meter;
#[cfg(test)]
mod properties;
pub(crate) mod tenant;
#[cfg(test)]
mod tests;

use crate::Nanos;
use crate::number_map::NumberMap;
pub use census::{Census, WaitReason};
pub use cost::Costs;
use meter::Meter;
pub use meter::{
    Admission, Caller, Ended, Interval, Loan, Notice, Options, Outcome, Rejection, SessionId, TenantId,
};
use std::collections::{BTreeSet, VecDeque};
pub use tenant::TenantCensus;
use tenant::{Entrance, Kill, Session, Stage, Tenants, Ticket, Waiter};

/// The gate: who runs, who waits, and in which order.
#[derive(Debug)]
pub struct Gate {
    options: Options,
    limit: usize,
    /// Counts servers that were behind the gate, one after the other.
    server: u32,
    sessions: NumberMap<SessionId, Session>,
    tenants: Tenants,
    notices: VecDeque<Notice>,
    kills: Vec<Kill>,
    meter: Meter,
    costs: Costs,
    running: usize,
    /// Idle ones that lent their permits.
    lent: usize,
    /// Those that lent it while a statement is at the server, by its beginning.
    on_loan: BTreeSet<(Nanos, SessionId)>,
    /// Those of them whose statement sleeps.
    asleep: BTreeSet<(Nanos, SessionId)>,
    loans_beyond: Option<usize>,
    loans_total: u64,
    unqueued: usize,
    by_liveness: usize,
    liveness_total: u64,
    lent_refused: u64,
    loans_refused: u64,
    would_have_queued: u64,
    next_ticket: Ticket,
    /// When a transaction ended last, or the liveness rule acted, or waiting began.
    progress: Nanos,
}

impl Gate {
    /// A gate with this limit; a limit of zero is one.
    pub fn new(limit: usize, options: Options) -> Self {
        Self {
            options,
            limit: limit.max(1),
            server: 0,
            sessions: NumberMap::default(),
            tenants: Tenants::default(),
            notices: VecDeque::new(),
            kills: Vec::new(),
            meter: Meter::default(),
            costs: Costs::default(),
            running: 0,
            lent: 0,
            on_loan: BTreeSet::new(),
            asleep: BTreeSet::new(),
            loans_beyond: None,
            loans_total: 0,
            unqueued: 0,
            by_liveness: 0,
            liveness_total: 0,
            lent_refused: 0,
            loans_refused: 0,
            would_have_queued: 0,
            next_ticket: 0,
            progress: Nanos::ZERO,
        }
    }

    /// The tenant of this name. Beyond 1,023 names the rest share one.
    pub fn tenant(&mut self, name: &str) -> TenantId {
        self.tenants.intern(name)
    }

    /// The tenant's share of admissions while others wait too, from now on.
    pub fn set_weight(&mut self, tenant: TenantId, weight: u32) {
        self.tenants.set_weight(tenant, weight);
    }

    /// New options; who waits or runs goes on.
    pub fn set_options(&mut self, now: Nanos, options: Options) {
        self.options = options;
        self.fill(now);
    }

    /// A new limit, at least one. Nobody who runs is stopped.
    pub fn set_limit(&mut self, now: Nanos, limit: usize) {
        self.limit = limit.max(1);
        self.fill(now);
    }

    /// A session wants to start a transaction. One that runs already, or waits, gets the same answer again.
    pub fn ask(&mut self, now: Nanos, caller: Caller) -> Admission {
        if self.is_of_old(caller) {
            return Admission::Admitted;
        }
        match self.sessions.get(&caller.session).map(|s| s.stage) {
            Some(Stage::Waiting(_)) => return Admission::Queued,
            Some(Stage::Running) => return Admission::Admitted,
            Some(Stage::Lent | Stage::OnLoan { .. } | Stage::Asleep { .. }) => {
                self.resume(now, caller);
                return Admission::Admitted;
            }
            None => {}
        }
        let room = self.running < self.limit && self.tenants.waiting() == 0;
        if room || self.options.dry_run {
            self.would_have_queued += u64::from(!room);
            self.tenants.charge(caller.tenant);
            self.start(now, caller.session, caller.tenant, Entrance::Permit, Nanos::ZERO);
            return Admission::Admitted;
        }
        self.queue(now, caller)
    }

    fn queue(&mut self, now: Nanos, Caller { session, tenant, thread, .. }: Caller) -> Admission {
        let waiting = self.tenants.waiting();
        if let Some(bound) = self.options.queue_max.filter(|&bound| waiting >= bound) {
            self.tenants.get(tenant).rejected += 1;
            self.meter.rejected();
            return Admission::Rejected(Rejection::QueueFull { waiting, bound });
        }
        if waiting == 0 {
            self.progress = self.progress.max(now);
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.tenants.push(tenant, ticket, Waiter { session, thread, since: now });
        self.know(now, session, (tenant, Stage::Waiting(ticket), Entrance::Permit));
        self.measure(now);
        Admission::Queued
    }

    /// A session that may hold what others wait for starts a transaction: it never queues. One that waits
    /// leaves the queue for it.
    pub fn enter(&mut self, now: Nanos, caller: Caller) {
        if self.is_of_old(caller) {
            return;
        }
        match self.sessions.get(&caller.session).copied() {
            Some(Session { stage: Stage::Running, .. }) => return,
            Some(Session { stage: Stage::Waiting(ticket), tenant, .. }) => {
                self.tenants.remove(tenant, ticket);
            }
            Some(_) => return self.resume(now, caller),
            None => {}
        }
        self.tenants.count(caller.tenant);
        self.start(now, caller.session, caller.tenant, Entrance::Unqueued, Nanos::ZERO);
    }

    /// A transaction has ended and its session has nothing else in flight: the permit goes on. `work` is
    /// what such a transaction usually costs, 1 where nothing is known.
    pub fn release(&mut self, now: Nanos, session: SessionId, outcome: Outcome, work: f64) {
        if matches!(self.sessions.get(&session).map(|s| s.stage), None | Some(Stage::Waiting(_))) {
            return;
        }
        self.complete(now, session, outcome, work);
        self.end(now, session);
    }

    /// A transaction has ended and the next one of its session goes on under the same permit (COMMIT AND
    /// CHAIN, pipelined statements).
    pub fn complete(&mut self, now: Nanos, session: SessionId, outcome: Outcome, work: f64) {
        if let Some(known) = self.sessions.get_mut(&session)
            && !matches!(known.stage, Stage::Waiting(_))
        {
            let response = now - known.admitted;
            known.admitted = now;
            // The next one goes on where this one was.
            let on_loan = matches!(known.stage, Stage::OnLoan { .. } | Stage::Asleep { .. });
            if std::mem::replace(&mut known.was_on_loan, on_loan) {
                self.meter.ended_on_loan(outcome, response);
            } else {
                self.meter.ended(outcome, response, work);
            }
            self.progress = self.progress.max(now);
        }
    }

    /// Where a session stands after an answer: `ended` as [`Gate::complete`] has it, and `open` as long as it
    /// needs its permit, which it gets here if it has none (a COMMIT that began the next transaction).
    pub fn settle(&mut self, now: Nanos, caller: Caller, ended: Option<Ended>, open: bool) {
        if self.is_of_old(caller) {
            return;
        }
        let session = caller.session;
        let known = self.sessions.get(&session).filter(|s| !matches!(s.stage, Stage::Waiting(_)));
        let Some(&Session { was_on_loan, .. }) = known else {
            if open {
                self.enter(now, caller);
            }
            return;
        };
        if let Some(ended) = ended {
            let work = match ended.outcome {
                Outcome::Success if !was_on_loan => self.costs.weigh(ended.digest, ended.busy),
                _ => 1.0,
            };
            self.complete(now, session, ended.outcome, work);
        }
        if !open {
            self.end(now, session);
        }
    }

    /// The session is gone, in whatever state: it leaves the queue, or gives its permit back. Only for one
    /// that has nothing running at the server any more.
    pub fn cancel(&mut self, now: Nanos, caller: Caller) {
        let session = caller.session;
        if self.is_of_old(caller) {
            return;
        }
        match self.sessions.get(&session).copied() {
            Some(Session { stage: Stage::Waiting(ticket), tenant, .. }) => {
                self.tenants.remove(tenant, ticket);
                self.tenants.get(tenant).cancelled += 1;
                self.sessions.remove(&session);
                self.measure(now);
            }
            Some(_) => self.release(now, session, Outcome::Ignored, 0.0),
            None => {}
        }
    }

    pub fn notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Figures since the last call.
    pub fn take_interval(&mut self, now: Nanos) -> Interval {
        self.meter.take(now)
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn running(&self) -> usize {
        self.running
    }

    pub fn waiting(&self) -> usize {
        self.tenants.waiting()
    }

    fn set_running(&mut self, now: Nanos, running: usize) {
        self.running = running;
        self.measure(now);
    }

    fn measure(&mut self, now: Nanos) {
        self.meter.level(now, self.running, self.tenants.waiting());
    }

    fn entered(&mut self, entrance: Entrance) -> Option<&mut usize> {
        match entrance {
            Entrance::Permit => None,
            Entrance::Unqueued => Some(&mut self.unqueued),
            Entrance::Liveness => Some(&mut self.by_liveness),
        }
    }

    fn know(
        &mut self,
        now: Nanos,
        session: SessionId,
        (tenant, stage, entrance): (TenantId, Stage, Entrance),
    ) {
        let known = Session { tenant, stage, entrance, admitted: now, was_on_loan: false };
        self.sessions.insert(session, known);
    }

    fn start(&mut self, now: Nanos, session: SessionId, tenant: TenantId, entrance: Entrance, wait: Nanos) {
        self.know(now, session, (tenant, Stage::Running, entrance));
        let counted = self.tenants.get(tenant);
        counted.in_flight += 1;
        counted.waits.record(wait);
        if let Some(count) = self.entered(entrance) {
            *count += 1;
        }
        self.set_running(now, self.running + 1);
    }

    fn end(&mut self, now: Nanos, session: SessionId) {
        let Some(known) = self.sessions.remove(&session) else { return };
        self.tenants.get(known.tenant).in_flight -= 1;
        if let Some(count) = self.entered(known.entrance) {
            *count -= 1;
        }
        // A lent permit is with another already.
        if known.stage.is_lent() {
            self.forget_loan(session, known.stage);
        } else {
            self.set_running(now, self.running - 1);
        }
        self.fill(now);
    }

    fn fill(&mut self, now: Nanos) {
        while self.running < self.limit || self.options.dry_run {
            if !self.admit_next(now, Entrance::Permit) {
                return;
            }
        }
    }

    fn admit_next(&mut self, now: Nanos, entrance: Entrance) -> bool {
        let Some((tenant, waiter)) = self.tenants.pop() else { return false };
        let wait = now - waiter.since;
        self.start(now, waiter.session, tenant, entrance, wait);
        self.notices.push_back(Notice::Admitted(waiter.session, wait));
        true
    }
}
