//! What follows from time alone: waits that end, and the liveness rule.

use super::session::{Entrance, Session, Stage};
use super::{Gate, Notice, Rejection};
use evenkeel_core::Nanos;

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
