//! The queue: one for each tenant, first come first served inside it, and fair by weight between them.
//!
//! Start-time fair queueing: every admission of a tenant moves its start tag on by 1 / weight, and the
//! waiting tenant with the smallest tag is served next. A tenant that was away starts at the tag served
//! last, so that absence saves up no claim.

use super::meter::{SessionId, TenantId};
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
    /// Transactions admitted and not ended, lent ones included.
    pub in_flight: usize,
    /// Sessions that pass the queue because they hold named locks, and nothing else.
    pub exempt: usize,
    /// Times since the start that the bound on these ([`Options::named_max`](super::Options::named_max))
    /// kept one in the queue.
    pub exempt_refused: u64,
    pub admitted: u64,
    /// How many of these, and of those that still wait, had to queue.
    pub queued: u64,
    pub rejected: u64,
    /// Sessions that left the queue by themselves since the start.
    pub cancelled: u64,
    /// Waits of all transactions that were admitted, also waits of zero.
    pub waits: Histogram,
}

#[derive(Debug, Default)]
pub(super) struct Tenant {
    /// What is counted of it; who waits now is in the queue.
    counts: TenantCensus,
    waiting: BTreeMap<Ticket, Waiter>,
    start: u128,
}

impl Tenant {
    pub fn census(&self, now: Nanos) -> TenantCensus {
        let longest_waiting =
            self.waiting.first_key_value().map_or(Nanos::ZERO, |(_, first)| now - first.since);
        TenantCensus { waiting: self.waiting.len(), longest_waiting, ..self.counts.clone() }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub session: SessionId,
    pub thread: u32,
    pub since: Nanos,
}

/// A KILL QUERY under way, and who waits out of the queue until the server has answered it.
#[derive(Debug)]
pub(super) struct Kill {
    pub killer: SessionId,
    pub tenant: TenantId,
    pub ticket: Ticket,
    pub waiter: Waiter,
}

/// All tenants that were seen, each with its queue and its weight.
#[derive(Debug, Default)]
pub(crate) struct Tenants {
    all: Vec<Tenant>,
    names: HashMap<String, TenantId>,
    /// Tenants with waiters, by start tag.
    backlog: BTreeSet<(u128, TenantId)>,
    served: u128,
    waiting: usize,
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
        let counts = TenantCensus { name: name.to_string(), weight: 1, ..TenantCensus::default() };
        self.all.push(Tenant { counts, ..Tenant::default() });
        self.names.insert(name.to_string(), id);
        id
    }

    /// What is counted of a tenant.
    pub fn get(&mut self, id: TenantId) -> &mut TenantCensus {
        &mut self.at(id).counts
    }

    fn at(&mut self, id: TenantId) -> &mut Tenant {
        // An id comes from `intern` only, and tenants are never removed.
        &mut self.all[id.0 as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Tenant> {
        self.all.iter()
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn push(&mut self, id: TenantId, ticket: Ticket, waiter: Waiter) {
        let served = self.served;
        let tenant = self.at(id);
        if tenant.waiting.is_empty() {
            tenant.start = tenant.start.max(served);
            let entry = (tenant.start, id);
            self.backlog.insert(entry);
        }
        let tenant = self.at(id);
        tenant.counts.queued += 1;
        tenant.waiting.insert(ticket, waiter);
        self.waiting += 1;
    }

    /// Who waits for the server's thread of this number.
    pub fn of_thread(&self, thread: u32) -> Option<(TenantId, Ticket, Waiter)> {
        self.waiters().find(|(_, _, waiter)| waiter.thread == thread)
    }

    pub fn waiters(&self) -> impl Iterator<Item = (TenantId, Ticket, Waiter)> {
        let tenants = (0..).map(TenantId).zip(&self.all);
        tenants.flat_map(|(id, tenant)| tenant.waiting.iter().map(move |(t, w)| (id, *t, *w)))
    }

    /// Takes a waiter out of its queue without serving it.
    pub fn remove(&mut self, id: TenantId, ticket: Ticket) -> Option<Waiter> {
        let tenant = self.at(id);
        let waiter = tenant.waiting.remove(&ticket)?;
        let entry = (tenant.start, id);
        if tenant.waiting.is_empty() {
            self.backlog.remove(&entry);
        }
        self.waiting -= 1;
        Some(waiter)
    }

    /// Nobody waits, runs or is exempt any more: who waited, those of a tenant in their order.
    pub fn clear(&mut self) -> Vec<(TenantId, Waiter)> {
        self.backlog.clear();
        self.waiting = 0;
        let mut left = Vec::new();
        for (id, tenant) in (0..).map(TenantId).zip(&mut self.all) {
            (tenant.counts.in_flight, tenant.counts.exempt) = (0, 0);
            left.extend(std::mem::take(&mut tenant.waiting).into_values().map(|waiter| (id, waiter)));
        }
        left
    }

    /// Whose turn it is; the tenant is charged.
    pub fn pop(&mut self) -> Option<(TenantId, Waiter)> {
        let (_, id) = self.backlog.pop_first()?;
        let (_, waiter) = self.at(id).waiting.pop_first()?;
        self.waiting -= 1;
        self.charge(id);
        let tenant = self.at(id);
        if !tenant.waiting.is_empty() {
            let entry = (tenant.start, id);
            self.backlog.insert(entry);
        }
        Some((id, waiter))
    }

    /// Counts an admission. Not for a tenant in the backlog: its place there depends on its tag.
    pub fn charge(&mut self, id: TenantId) {
        let served = self.served;
        let tenant = self.at(id);
        let start = tenant.start.max(served);
        tenant.start = start + u128::from(SCALE / u64::from(tenant.counts.weight));
        tenant.counts.admitted += 1;
        self.served = start;
    }

    /// Counts an admission that passed the queue, and leaves the tags alone: what may not wait is not
    /// held against those of the tenant who do.
    pub fn count(&mut self, id: TenantId) {
        self.get(id).admitted += 1;
    }

    /// The weight from the next admission on, within `1..=WEIGHT_MAX`.
    pub fn set_weight(&mut self, id: TenantId, weight: u32) {
        self.get(id).weight = weight.clamp(1, Self::WEIGHT_MAX);
    }

    /// Waiters whose wait has reached `longest`, oldest first inside a tenant.
    pub fn overdue(&self, now: Nanos, longest: Nanos) -> Vec<SessionId> {
        let late = |tenant: &Tenant| {
            let waiters = tenant.waiting.values();
            waiters.take_while(|w| now - w.since >= longest).map(|w| w.session).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(late).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    Permit,
    Unqueued,
    Liveness,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Waiting(Ticket),
    Running,
    /// Idle, with its permit lent.
    Lent,
    /// Its permit is lent while a statement that began then is at the server.
    OnLoan {
        since: Nanos,
    },
    /// The same while a statement sleeps there, as its text says.
    Asleep {
        since: Nanos,
    },
}

impl Stage {
    pub fn is_lent(self) -> bool {
        matches!(self, Self::Lent | Self::OnLoan { .. } | Self::Asleep { .. })
    }
}

/// A session that waits or runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub tenant: TenantId,
    pub stage: Stage,
    pub entrance: Entrance,
    pub admitted: Nanos,
    /// Its transaction was on loan at the server once: its time says nothing about others.
    pub was_on_loan: bool,
}
