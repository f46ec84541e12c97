//! The gate with its lanes: who runs, who waits, and in which order.
//!
//! Short transactions run under one limit, long ones under another. A place is a value that its owner keeps; the gate knows only how
//! many are out, and who waits. What follows for other sessions is left as [`Notice`]s. Time is an argument.
//!
//! In each lane run at most as many as the largest limit at which one of them came in, plus those that came in above it:
//! sessions that may hold what others wait for, transactions that moved from the short lane to the long one while they ran, and those that
//! liveness let in. Who waits inside the server for somebody else steps aside: it uses no place, up to a bound.

mod front;
mod kills;
mod kinds;
mod long;
mod rules;
mod tenant;
#[cfg(test)]
mod tests;
mod words;

use crate::Nanos;
pub use front::{AtFront, Front, LIMIT_MAX};
pub use kinds::{Class, Kinds, Seen};
pub use long::{Long, LongReason, LongSample};
pub use rules::{Rules, RulesError, lane_of_comment};
use std::collections::VecDeque;
use std::sync::Arc;
pub use tenant::TenantCensus;
pub(crate) use tenant::Tenants;
use tenant::{Line, Ticket, Waiter};
pub use words::{Caller, First, Lane, LaneCensus, Mode, Notice, Rejection, SessionId, TenantId};

/// What a transaction that runs has of the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub lane: Lane,
    /// It waits for somebody else and uses no place of its lane.
    pub aside: bool,
    /// It is aside because its client pauses: nothing of it is at the server, so that the bound does not count it.
    pub idle: bool,
}

/// A stand in the queue of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stand {
    pub lane: Lane,
    tenant: TenantId,
    ticket: Ticket,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Admitted(Place),
    Queued(Stand),
    Rejected(Rejection),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Most sessions that may wait in a lane; without it nobody is refused for their number.
    pub queue_max: Option<usize>,
    /// Most transactions that may stand aside.
    pub aside_max: usize,
    /// Holds nothing back, and counts what it would have held back.
    pub watch: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { queue_max: None, aside_max: 64, watch: false }
    }
}

#[derive(Debug)]
struct Queue {
    limit: usize,
    line: Line,
    /// When somebody of the lane ended last, or came in by liveness, or waiting began.
    progress: Nanos,
}

/// A KILL QUERY under way, and who waits out of the queue until the server has answered it.
#[derive(Debug)]
struct Kill {
    killers: Vec<SessionId>,
    stand: Stand,
    waiter: Waiter,
}

/// See the module.
#[derive(Debug)]
pub struct Gate {
    options: Options,
    fronts: Arc<[Front; 2]>,
    pub(crate) tenants: Tenants,
    queues: [Queue; 2],
    kills: Vec<Kill>,
    aside: usize,
    idle: usize,
    notices: VecDeque<Notice>,
    next_ticket: Ticket,
    moved_total: u64,
    liveness_total: u64,
    aside_refused: u64,
}

impl Gate {
    /// A gate with these limits; zero is one.
    pub fn new(limits: [usize; 2], options: Options) -> Self {
        let queue = |limit| Queue { limit, line: Line::default(), progress: Nanos::ZERO };
        let mut gate = Self {
            options,
            fronts: Arc::default(),
            tenants: Tenants::default(),
            queues: limits.map(queue),
            kills: Vec::new(),
            aside: 0,
            idle: 0,
            notices: VecDeque::new(),
            next_ticket: 0,
            moved_total: 0,
            liveness_total: 0,
            aside_refused: 0,
        };
        Lane::ALL.iter().for_each(|lane| gate.set_limit(Nanos::ZERO, *lane, limits[*lane as usize]));
        gate
    }

    /// Where sessions of each lane come in while nobody waits.
    pub fn fronts(&self) -> Arc<[Front; 2]> {
        Arc::clone(&self.fronts)
    }

    /// The tenant of this name. Beyond 1,023 names the rest share one.
    pub fn tenant(&mut self, name: &str) -> TenantId {
        self.tenants.intern(name)
    }

    /// The tenant's share of admissions while others wait too, from now on.
    pub fn set_weight(&mut self, tenant: TenantId, weight: u32) {
        self.tenants.set_weight(tenant, weight);
    }

    pub fn set_options(&mut self, now: Nanos, options: Options) {
        self.options = options;
        Lane::ALL.iter().for_each(|lane| self.set_limit(now, *lane, self.limit(*lane)));
    }

    /// A new limit, at least one. Nobody who runs is stopped.
    pub fn set_limit(&mut self, now: Nanos, lane: Lane, limit: usize) {
        let limit = limit.clamp(1, LIMIT_MAX);
        self.queues[lane as usize].limit = limit;
        self.fronts[lane as usize].set_limit(limit, self.options.watch);
        self.fill(now, lane);
    }

    /// A session wants to begin a transaction, and found its front shut.
    pub fn ask(&mut self, now: Nanos, lane: Lane, caller: Caller) -> Asked {
        let front = &self.fronts[lane as usize];
        let waiting = self.waiting(lane);
        if let Some(bound) = self.options.queue_max.filter(|&bound| waiting >= bound) {
            self.tenants.get(caller.tenant).rejected += 1;
            return Asked::Rejected(Rejection::QueueFull { waiting, bound });
        }
        // From here on every place that is given back comes through the gate.
        front.set_shut(true);
        if waiting == 0 {
            self.queues[lane as usize].progress = now;
        }
        let Caller { session, tenant, thread, .. } = caller;
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.tenants.get(tenant).queued += 1;
        self.queues[lane as usize].line.push(tenant, ticket, Waiter { session, thread, since: now });
        self.fill(now, lane);
        // It may have come in at once, since a place was given back meanwhile.
        match self.notices.back() {
            Some(Notice::Admitted(admitted, _)) if *admitted == session => {
                self.notices.pop_back();
                Asked::Admitted(Place { lane, ..Place::default() })
            }
            _ => Asked::Queued(Stand { lane, tenant, ticket }),
        }
    }

    /// A session leaves the queue by itself; false where it does not stand there any more.
    pub fn cancel(&mut self, now: Nanos, stand: Stand) -> bool {
        let kills = self.kills.len();
        self.kills.retain(|kill| kill.stand != stand);
        let queue = &mut self.queues[stand.lane as usize];
        let waited = queue.line.remove(stand.tenant, stand.ticket).is_some() || self.kills.len() < kills;
        self.tenants.get(stand.tenant).cancelled += u64::from(waited);
        self.fill(now, stand.lane);
        waited
    }

    /// A session that may hold what others wait for begins a transaction: it never waits.
    pub fn enter(&mut self, lane: Lane) -> Place {
        self.fronts[lane as usize].enter_above();
        Place { lane, ..Place::default() }
    }

    /// A transaction has ended: its place goes on.
    pub fn leave(&mut self, now: Nanos, place: Place) {
        if place.aside {
            *self.aside_of(place.idle) -= 1;
        } else {
            self.fronts[place.lane as usize].leave();
            self.pass_on(now, place.lane);
        }
    }

    /// A place was given back at the front while somebody waited.
    pub fn pass_on(&mut self, now: Nanos, lane: Lane) {
        self.queues[lane as usize].progress = now;
        self.fill(now, lane);
    }

    /// What runs has proved to be long: it runs in that lane from now on, if need be above its limit.
    pub fn move_to_long(&mut self, now: Nanos, place: &mut Place) {
        if place.lane == Lane::Short {
            place.lane = Lane::Long;
            self.moved_total += 1;
            if !place.aside {
                self.fronts[Lane::Long as usize].enter_above();
                self.fronts[Lane::Short as usize].leave();
                self.pass_on(now, Lane::Short);
            }
        }
    }

    /// What runs waits for somebody else. False where as many do as may.
    pub fn step_aside(&mut self, now: Nanos, place: &mut Place) -> bool {
        if !place.aside && self.aside >= self.options.aside_max {
            self.aside_refused += 1;
        } else if !place.aside {
            self.put_aside(now, place, false);
        }
        place.aside
    }

    /// The client of what runs pauses inside its transaction.
    pub fn pause(&mut self, now: Nanos, place: &mut Place) {
        if !place.aside {
            self.put_aside(now, place, true);
        }
    }

    fn put_aside(&mut self, now: Nanos, place: &mut Place, idle: bool) {
        (place.aside, place.idle) = (true, idle);
        *self.aside_of(idle) += 1;
        self.fronts[place.lane as usize].leave();
        self.pass_on(now, place.lane);
    }

    fn aside_of(&mut self, idle: bool) -> &mut usize {
        if idle { &mut self.idle } else { &mut self.aside }
    }

    /// It uses the server again, if need be above the limit.
    pub fn step_back(&mut self, place: &mut Place) {
        if place.aside {
            *self.aside_of(place.idle) -= 1;
            (place.aside, place.idle) = (false, false);
            self.fronts[place.lane as usize].enter_above();
        }
    }

    /// Lets one more in where sessions wait, nothing has ended for `patience`, and nothing that runs in the lane makes progress.
    pub fn keep_alive(&mut self, now: Nanos, lane: Lane, patience: Nanos) {
        let queue = &self.queues[lane as usize];
        if queue.line.waiting() > 0 && now - queue.progress >= patience {
            self.liveness_total += 1;
            self.queues[lane as usize].progress = now;
            self.admit_next(now, lane);
        }
    }

    /// Refuses who has waited for so long.
    pub fn reject_overdue(&mut self, now: Nanos, bound: Nanos) {
        for lane in Lane::ALL {
            let line = &mut self.queues[lane as usize].line;
            let late: Vec<_> = line.waiters().filter(|(_, _, waiter)| now - waiter.since >= bound).collect();
            for (tenant, ticket, waiter) in late {
                line.remove(tenant, ticket);
                self.tenants.get(tenant).rejected += 1;
                self.notices.push_back(Notice::Rejected(waiter.session, Rejection::WaitedTooLong { bound }));
            }
            self.fill(now, lane);
        }
    }

    /// A new server is behind the gate, where nothing runs yet. Who waits would go to the old one: it is let through, and has no
    /// place. Places of the old one must not be given back any more.
    pub fn new_server(&mut self, now: Nanos) {
        let mut through: Vec<_> = self.kills.drain(..).map(|kill| (kill.stand.tenant, kill.waiter)).collect();
        for (queue, front) in self.queues.iter_mut().zip(self.fronts.iter()) {
            while let Some(next) = queue.line.pop(&mut self.tenants) {
                through.push(next);
            }
            front.empty();
            queue.progress = now;
        }
        for (tenant, waiter) in through {
            self.tenants.get(tenant).admit(now - waiter.since);
            self.notices.push_back(Notice::Admitted(waiter.session, now - waiter.since));
        }
        (self.aside, self.idle) = (0, 0);
    }

    pub fn notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    pub fn limit(&self, lane: Lane) -> usize {
        self.queues[lane as usize].limit
    }

    pub fn running(&self, lane: Lane) -> usize {
        self.fronts[lane as usize].running()
    }

    pub fn waiting(&self, lane: Lane) -> usize {
        self.line(lane).waiting()
    }

    pub fn lanes(&self) -> [LaneCensus; 2] {
        let census = |lane| LaneCensus {
            limit: self.limit(lane),
            running: self.running(lane),
            waiting: self.waiting(lane),
        };
        Lane::ALL.map(census)
    }

    pub fn aside(&self) -> usize {
        self.aside + self.idle
    }

    /// What is counted of each tenant.
    pub fn tenants(&self, now: Nanos) -> Vec<TenantCensus> {
        self.tenants.census(now, self.queues.iter().map(|queue| &queue.line))
    }

    /// How many moved to the long lane while they ran.
    pub fn moved_total(&self) -> u64 {
        self.moved_total
    }

    pub fn liveness_total(&self) -> u64 {
        self.liveness_total
    }

    /// How often the bound on those that stand aside kept one in its place.
    pub fn aside_refused(&self) -> u64 {
        self.aside_refused
    }

    fn line(&self, lane: Lane) -> &Line {
        &self.queues[lane as usize].line
    }

    fn fill(&mut self, now: Nanos, lane: Lane) {
        let watch = self.options.watch;
        while self.waiting(lane) > 0 && (watch || self.running(lane) < self.limit(lane)) {
            self.admit_next(now, lane);
        }
        if self.waiting(lane) == 0 {
            self.fronts[lane as usize].set_shut(false);
        }
    }

    fn admit_next(&mut self, now: Nanos, lane: Lane) {
        if let Some((tenant, waiter)) = self.queues[lane as usize].line.pop(&mut self.tenants) {
            self.fronts[lane as usize].enter_above();
            self.tenants.get(tenant).admit(now - waiter.since);
            self.notices.push_back(Notice::Admitted(waiter.session, now - waiter.since));
        }
    }
}
