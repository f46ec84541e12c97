//! Who waits in a lane: a queue for each tenant, first come first served inside it, and fair by weight between them.
//!
//! Start-time fair queueing: every admission of a tenant moves its start tag on by 1 / weight, and the
//! waiting tenant with the smallest tag is served next. A tenant that was away starts at the tag served
//! last, so that absence saves up no claim.

use super::{SessionId, TenantId};
use crate::Nanos;
use crate::histogram::Histogram;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Place in a queue; also the order of arrival over all tenants.
pub(crate) type Ticket = u64;

/// Tags count in fractions of a transaction fine enough for weights up to [`Tenants::WEIGHT_MAX`].
const SCALE: u64 = 1 << 32;

#[derive(Clone, Debug, Default)]
pub struct TenantCensus {
    pub name: String,
    /// Share of admissions while others wait too.
    pub weight: u32,
    pub waiting: usize,
    /// How long the first of them has waited.
    pub longest_waiting: Nanos,
    /// Sessions that pass the queue because they hold named locks, and nothing else.
    pub exempt: usize,
    /// Times since the start that the bound on these kept one in the queue.
    pub exempt_refused: u64,
    pub admitted: u64,
    /// Transactions that have ended of those.
    pub ended: u64,
    /// How many of the admitted, and of those that still wait, had to queue.
    pub queued: u64,
    pub rejected: u64,
    /// Sessions that left the queue by themselves since the start.
    pub cancelled: u64,
    /// Waits of all transactions that were admitted, also waits of zero.
    pub waits: Histogram,
}

impl TenantCensus {
    /// Transactions admitted and not ended, those aside included.
    pub fn in_flight(&self) -> usize {
        (self.admitted - self.ended) as usize
    }

    pub(crate) fn admit(&mut self, wait: Nanos) {
        self.admitted += 1;
        self.waits.record(wait);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub session: SessionId,
    pub thread: u32,
    pub since: Nanos,
}

/// All tenants that were seen, and what is counted of each.
#[derive(Debug, Default)]
pub(crate) struct Tenants {
    all: Vec<TenantCensus>,
    names: HashMap<String, TenantId>,
}

impl Tenants {
    /// Tenants beyond this number share the last one: a client may choose its database's name, and
    /// memory must not grow with that.
    pub const MAX: usize = 1_024;
    /// Greatest weight that a tenant can have.
    pub const WEIGHT_MAX: u32 = 1_000_000;
    /// Name of the tenant that the rest share.
    pub const REST: &str = "(rest)";

    /// The tenant of this name, made at first sight.
    pub fn intern(&mut self, name: &str) -> TenantId {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let full = self.all.len() >= Self::MAX - 1;
        let name = if full { Self::REST } else { name };
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = TenantId(self.all.len() as u32);
        self.all.push(TenantCensus { name: name.to_string(), weight: 1, ..TenantCensus::default() });
        self.names.insert(name.to_string(), id);
        id
    }

    pub fn get(&mut self, id: TenantId) -> &mut TenantCensus {
        // An id comes from `intern` only, and tenants are never removed.
        &mut self.all[id.0 as usize]
    }

    pub fn all(&mut self) -> &mut [TenantCensus] {
        &mut self.all
    }

    /// The weight from the next admission on, within `1..=WEIGHT_MAX`.
    pub fn set_weight(&mut self, id: TenantId, weight: u32) {
        self.get(id).weight = weight.clamp(1, Self::WEIGHT_MAX);
    }

    /// Counts everything, with who waits in these lines.
    pub fn census<'a>(&self, now: Nanos, lines: impl Iterator<Item = &'a Line> + Clone) -> Vec<TenantCensus> {
        let mut all = self.all.clone();
        for line in lines {
            for (tenant, queue) in all.iter_mut().zip(&line.all) {
                tenant.waiting += queue.waiting.len();
                let first = queue.waiting.first_key_value().map_or(now, |(_, first)| first.since);
                tenant.longest_waiting = tenant.longest_waiting.max(now - first);
            }
        }
        all
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeMap<Ticket, Waiter>,
    start: u128,
}

/// Who waits in a lane.
#[derive(Debug, Default)]
pub(crate) struct Line {
    all: Vec<Queue>,
    /// Tenants with waiters, by start tag.
    backlog: BTreeSet<(u128, TenantId)>,
    served: u128,
    waiting: usize,
}

impl Line {
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn push(&mut self, id: TenantId, ticket: Ticket, waiter: Waiter) {
        let at = id.0 as usize;
        if at >= self.all.len() {
            self.all.resize_with(at + 1, Queue::default);
        }
        let queue = &mut self.all[at];
        if queue.waiting.is_empty() {
            queue.start = queue.start.max(self.served);
            self.backlog.insert((queue.start, id));
        }
        queue.waiting.insert(ticket, waiter);
        self.waiting += 1;
    }

    pub fn waiters(&self) -> impl Iterator<Item = (TenantId, Ticket, Waiter)> {
        let queues = (0..).map(TenantId).zip(&self.all);
        queues.flat_map(|(id, queue)| queue.waiting.iter().map(move |(t, w)| (id, *t, *w)))
    }

    /// Takes a waiter out of its queue without serving it.
    pub fn remove(&mut self, id: TenantId, ticket: Ticket) -> Option<Waiter> {
        let queue = self.all.get_mut(id.0 as usize)?;
        let waiter = queue.waiting.remove(&ticket)?;
        if queue.waiting.is_empty() {
            self.backlog.remove(&(queue.start, id));
        }
        self.waiting -= 1;
        Some(waiter)
    }

    /// Whose turn it is; the tenant is charged by its weight.
    pub fn pop(&mut self, tenants: &mut Tenants) -> Option<(TenantId, Waiter)> {
        let (start, id) = self.backlog.pop_first()?;
        let queue = self.all.get_mut(id.0 as usize)?;
        let (_, waiter) = queue.waiting.pop_first()?;
        self.waiting -= 1;
        self.served = start;
        queue.start = start + u128::from(SCALE / u64::from(tenants.get(id).weight));
        if !queue.waiting.is_empty() {
            self.backlog.insert((queue.start, id));
        }
        Some((id, waiter))
    }
}
