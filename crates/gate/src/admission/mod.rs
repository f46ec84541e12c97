//! Who may run: permits, queues, loans.
//!
//! Pure: time is an argument, and what follows from a call for other sessions is left in a list of
//! [`Notice`]s that the caller drains. A session is known here only while it waits or runs, so that idle
//! connections cost nothing.
//!
//! What may be in flight at any moment: at most the largest limit at which one of them was admitted, plus
//! loans, plus what the liveness rule let in, plus what may not queue ([`Gate::enter`]). No call takes a
//! permit away: a lower limit only lets nobody new in.

mod census;
mod cost;
mod meter;
#[cfg(test)]
mod properties;
mod tenant;
mod terms;
#[cfg(test)]
mod tests;

pub use census::{Census, TenantCensus, WaitReason};
pub use cost::Costs;
pub use meter::Interval;
pub use tenant::TenantId;
pub use terms::{Admission, Ended, Notice, Options, Outcome, Rejection, SessionId};

use crate::numbers::NumberMap;
use evenkeel_core::Nanos;
use meter::Meter;
use std::collections::{BTreeSet, VecDeque};
use tenant::{Tenants, Ticket, Waiter};

/// The liveness rule waits for this many times the 99th percentile of response times.
const LIVENESS_P99: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entrance {
    Permit,
    Unqueued,
    Liveness,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Waiting(Ticket),
    Running,
    /// Idle since this moment with its permit lent, or asked to close.
    Lent {
        since: Nanos,
        told: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Session {
    tenant: TenantId,
    stage: Stage,
    entrance: Entrance,
    admitted: Nanos,
}

/// The gate.
#[derive(Debug)]
pub struct Gate {
    options: Options,
    limit: usize,
    sessions: NumberMap<SessionId, Session>,
    tenants: Tenants,
    notices: VecDeque<Notice>,
    meter: Meter,
    costs: Costs,
    running: usize,
    lent: BTreeSet<SessionId>,
    unqueued: usize,
    by_liveness: usize,
    liveness_total: u64,
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
            sessions: NumberMap::default(),
            tenants: Tenants::default(),
            notices: VecDeque::new(),
            meter: Meter::default(),
            costs: Costs::default(),
            running: 0,
            lent: BTreeSet::new(),
            unqueued: 0,
            by_liveness: 0,
            liveness_total: 0,
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

    /// A session wants to start a transaction. One that runs already, or waits, is told so again.
    pub fn ask(&mut self, now: Nanos, session: SessionId, tenant: TenantId) -> Admission {
        match self.sessions.get(&session).map(|s| s.stage) {
            Some(Stage::Waiting(_)) => return Admission::Queued,
            Some(Stage::Running) => return Admission::Admitted,
            Some(Stage::Lent { .. }) => {
                self.resume(now, session);
                return Admission::Admitted;
            }
            None => {}
        }
        let room = self.running < self.limit && self.tenants.waiting() == 0;
        if room || self.options.dry_run {
            self.would_have_queued += u64::from(!room);
            self.tenants.charge(tenant);
            self.start(now, session, tenant, Entrance::Permit, Nanos::ZERO);
            return Admission::Admitted;
        }
        self.queue(now, session, tenant)
    }

    fn queue(&mut self, now: Nanos, session: SessionId, tenant: TenantId) -> Admission {
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
        self.tenants.push(tenant, ticket, Waiter { session, since: now });
        let stage = Stage::Waiting(ticket);
        self.sessions.insert(session, Session { tenant, stage, entrance: Entrance::Permit, admitted: now });
        self.measure(now);
        Admission::Queued
    }

    /// A session that may hold what others wait for starts a transaction: it never queues. One that waits
    /// leaves the queue for it.
    pub fn enter(&mut self, now: Nanos, session: SessionId, tenant: TenantId) {
        match self.sessions.get(&session).copied() {
            Some(Session { stage: Stage::Running, .. }) => return,
            Some(Session { stage: Stage::Lent { .. }, .. }) => return self.resume(now, session),
            Some(Session { stage: Stage::Waiting(ticket), tenant, .. }) => {
                self.tenants.remove(tenant, ticket);
            }
            None => {}
        }
        self.tenants.count(tenant);
        self.start(now, session, tenant, Entrance::Unqueued, Nanos::ZERO);
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
            self.meter.ended(outcome, response, work);
            self.progress = self.progress.max(now);
        }
    }

    /// Where a session stands after an answer: `ended` as [`Gate::complete`] has it, and `open` as long as it
    /// needs its permit, which it gets here if it has none (a COMMIT that began the next transaction).
    pub fn settle(
        &mut self,
        now: Nanos,
        session: SessionId,
        tenant: TenantId,
        ended: Option<Ended>,
        open: bool,
    ) {
        let runs = self.sessions.get(&session).is_some_and(|s| !matches!(s.stage, Stage::Waiting(_)));
        match (runs, ended, open) {
            (true, _, _) => {
                if let Some(ended) = ended {
                    let work = match ended.outcome {
                        Outcome::Success => self.costs.weigh(ended.digest, ended.busy),
                        _ => 1.0,
                    };
                    self.complete(now, session, ended.outcome, work);
                }
                if !open {
                    self.end(now, session);
                }
            }
            (false, _, true) => self.enter(now, session, tenant),
            (false, _, false) => {}
        }
    }

    /// The session is gone, in whatever state: it leaves the queue, or gives its permit back. Only for one
    /// that has nothing running at the server any more.
    pub fn cancel(&mut self, now: Nanos, session: SessionId) {
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

    /// A running transaction waits for its client: another may have its permit. False where as many have
    /// lent already as may, or the session does not run.
    pub fn lend(&mut self, now: Nanos, session: SessionId) -> bool {
        let full = self.lent.len() >= self.options.lent_max;
        let Some(known) = self.sessions.get_mut(&session) else { return false };
        match known.stage {
            Stage::Lent { .. } => return true,
            Stage::Waiting(_) => return false,
            Stage::Running if full => {
                self.loans_refused += 1;
                return false;
            }
            Stage::Running => known.stage = Stage::Lent { since: now, told: false },
        }
        self.lent.insert(session);
        self.set_running(now, self.running - 1);
        self.fill(now);
        true
    }

    /// The client of a transaction that lent its permit goes on: it runs at once, if need be above the limit.
    pub fn resume(&mut self, now: Nanos, session: SessionId) {
        if self.lent.remove(&session) {
            if let Some(known) = self.sessions.get_mut(&session) {
                known.stage = Stage::Running;
            }
            self.set_running(now, self.running + 1);
        }
    }

    /// What time alone brings about: waits that end, sessions to close, the liveness rule. Call it some
    /// ten times a second.
    pub fn tick(&mut self, now: Nanos) {
        self.reject_overdue(now);
        self.close_idle(now);
        let stuck = self.tenants.waiting() > 0 && self.running >= self.limit;
        if stuck && now - self.progress >= self.liveness_after() {
            self.progress = now;
            self.liveness_total += 1;
            self.admit_next(now, Entrance::Liveness);
        }
    }

    /// Time without any end of a transaction after which the liveness rule admits one more.
    pub fn liveness_after(&self) -> Nanos {
        let p99 = self.meter.p99().unwrap_or(Nanos::ZERO);
        self.options.liveness_min.max(Nanos(p99.0.saturating_mul(LIVENESS_P99)))
    }

    /// The next notice; they have to be drained after every call.
    pub fn notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Figures since the last call.
    pub fn take_interval(&mut self, now: Nanos) -> Interval {
        self.meter.take(now)
    }

    /// Most that may run.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Transactions that run now.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Sessions that wait now.
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

    fn start(&mut self, now: Nanos, session: SessionId, tenant: TenantId, entrance: Entrance, wait: Nanos) {
        self.sessions.insert(session, Session { tenant, stage: Stage::Running, entrance, admitted: now });
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
        if !self.lent.remove(&session) {
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

    fn reject_overdue(&mut self, now: Nanos) {
        let Some(bound) = self.options.wait_max else { return };
        for session in self.tenants.overdue(now, bound) {
            let Some(Session { stage: Stage::Waiting(ticket), tenant, .. }) = self.sessions.remove(&session)
            else {
                continue;
            };
            self.tenants.remove(tenant, ticket);
            self.tenants.get(tenant).rejected += 1;
            self.meter.rejected();
            self.notices.push_back(Notice::Rejected(session, Rejection::WaitedTooLong { bound }));
        }
        self.measure(now);
    }

    fn close_idle(&mut self, now: Nanos) {
        let Some(after) = self.options.close_after else { return };
        for &session in &self.lent {
            if let Some(Session { stage: Stage::Lent { since, told }, .. }) = self.sessions.get_mut(&session)
                && !*told
                && now - *since >= after
            {
                *told = true;
                self.notices.push_back(Notice::Close(session));
            }
        }
    }
}
