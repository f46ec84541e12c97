//! Another server takes the place of the one behind the gate: it begins with nothing in flight.

use super::{Caller, Gate, Notice};
use evenkeel_core::Nanos;

impl Gate {
    /// The number of the server behind the gate, for the [`Caller`]s whose connections lead there.
    pub fn server(&self) -> u32 {
        self.server
    }

    /// A new server is behind the gate; its number. Whatever runs, lends or is exempt is at the old one, and
    /// counts no more. Who waits would go to the old one too: it is let through, and is not counted there.
    pub fn new_server(&mut self, now: Nanos) -> u32 {
        self.server = self.server.wrapping_add(1);
        let killed = self.killed_waiters();
        for (tenant, waiter) in self.tenants.clear().into_iter().chain(killed) {
            let wait = now - waiter.since;
            self.tenants.count(tenant);
            self.tenants.get(tenant).waits.record(wait);
            self.notices.push_back(Notice::Admitted(waiter.session, wait));
        }
        self.sessions.clear();
        self.lent = 0;
        self.on_loan.clear();
        self.asleep.clear();
        (self.unqueued, self.by_liveness) = (0, 0);
        self.progress = self.progress.max(now);
        self.set_running(now, 0);
        self.server
    }

    /// Whether the session's connection leads to a server that is not the present one.
    pub(super) fn is_of_old(&self, caller: Caller) -> bool {
        caller.server != self.server
    }
}
