//! The census: which transactions run, which wait, and why. No wait is hidden. And what time alone brings
//! about: waits that end, the liveness rule.

use super::tenant::{Entrance, Session, Stage, TenantCensus};
use super::{Gate, Notice, Rejection};
use crate::Nanos;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Census {
    pub limit: usize,
    /// Transactions that run now: with a permit, unqueued or by the liveness rule; lent ones left out.
    pub running: usize,
    /// Idle transactions that have lent their permit.
    pub lent: usize,
    /// Most transactions that may lend.
    pub lent_max: usize,
    /// How often since the start this bound kept a transaction from lending.
    pub lent_refused: u64,
    /// Transactions that have lent their permit while a statement of theirs is at the server, one that takes longer
    /// than its kind.
    pub loans: usize,
    /// The same for a statement that sleeps; bounded as `lent` is.
    pub asleep: usize,
    /// Most such loans now.
    pub loans_max: usize,
    /// Such loans since the start.
    pub loans_total: u64,
    /// How often since the start their bound kept a transaction from lending.
    pub loans_refused: u64,
    /// Age of the oldest statement whose permit is lent.
    pub oldest: Option<Nanos>,
    /// Running transactions that took a permit without queueing, because their session may hold locks.
    pub unqueued: usize,
    /// Running or lent transactions that the liveness rule admitted.
    pub by_liveness: usize,
    /// Admissions by the liveness rule since the start.
    pub liveness_total: u64,
    /// Time without any end of a transaction after which the liveness rule acts.
    pub liveness_after: Nanos,
    pub waiting: usize,
    /// Why sessions of it wait.
    pub reason: WaitReason,
    /// Transactions that were admitted since the start though the limit was reached, because of a dry run.
    pub would_have_queued: u64,
    /// 99th percentile of recent response times.
    pub response_p99: Option<Nanos>,
    pub tenants: Arc<[TenantCensus]>,
}

impl Gate {
    /// Counts everything, the tenants included.
    pub fn census(&self, now: Nanos) -> Census {
        let tenants = self.tenants.iter().map(|tenant| tenant.census(now)).collect();
        Census { tenants, ..self.brief_census(now) }
    }

    /// Counts everything but the tenants: a thousand of them are too many to copy ten times a second.
    pub fn brief_census(&self, now: Nanos) -> Census {
        let waiting = self.tenants.waiting();
        Census {
            limit: self.limit,
            running: self.running,
            lent: self.lent,
            lent_max: self.options.lent_max,
            lent_refused: self.lent_refused,
            loans: self.on_loan.len(),
            asleep: self.asleep.len(),
            loans_max: self.loans_max(),
            loans_total: self.loans_total,
            loans_refused: self.loans_refused,
            oldest: self.oldest_on_loan(now),
            unqueued: self.unqueued,
            by_liveness: self.by_liveness,
            liveness_total: self.liveness_total,
            liveness_after: self.liveness_after(),
            waiting,
            reason: match waiting {
                0 => WaitReason::Nobody,
                _ if self.running > self.limit => WaitReason::Overdrawn,
                _ => WaitReason::Limit,
            },
            would_have_queued: self.would_have_queued,
            response_p99: self.meter.p99(),
            tenants: Arc::default(),
        }
    }
}

/// The liveness rule waits for this many times the 99th percentile of response times.
const LIVENESS_P99: u64 = 5;

impl Gate {
    /// What time alone brings about: waits that end, the liveness rule. Call it some
    /// ten times a second.
    pub fn tick(&mut self, now: Nanos) {
        self.reject_overdue(now);
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
}

/// Why sessions wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    #[default]
    Nobody,
    /// As many transactions run as the limit allows.
    Limit,
    /// More run than the limit allows: it was lowered, or transactions came back that may not wait.
    Overdrawn,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody waits",
            Self::Limit => "limit reached",
            Self::Overdrawn => "more run than the limit: it was lowered, or some may not wait",
        })
    }
}
