//! Permits that are lent: a transaction that does not use the server, or has had more of it than its kind ever
//! takes, makes room for another. It goes on meanwhile, and takes its permit back without queueing. Also sessions that never
//! queue because they hold locks by what their texts say, or may hold what cannot be read: anybody may bring that about, so
//! that each tenant may have only so many. And another server in the place of the one behind the gate.

use super::{Caller, Gate, Loan, Notice, SessionId, Stage};
use crate::Nanos;

impl Gate {
    /// A running transaction makes room for another. False where as many have lent already as may, or the
    /// session does not run. One that has lent stays as it is, but for one on loan that has nothing at the server
    /// any more.
    pub fn lend(&mut self, now: Nanos, caller: Caller, loan: Loan) -> bool {
        if self.is_of_old(caller) {
            return false;
        }
        let full = match loan {
            Loan::Idle => self.lent >= self.options.lent_max,
            Loan::AtServer { .. } => self.on_loan.len() >= self.loans_max(),
            Loan::Asleep { .. } => self.asleep.len() >= self.options.lent_max,
        };
        let Some(known) = self.sessions.get_mut(&caller.session) else { return false };
        match (known.stage, loan) {
            (stage @ Stage::OnLoan { .. }, Loan::Idle) => {
                if full {
                    self.lent_refused += 1;
                    return false;
                }
                known.stage = Stage::Lent;
                self.lent += 1;
                self.forget_loan(caller.session, stage);
                return true;
            }
            (Stage::Lent | Stage::OnLoan { .. } | Stage::Asleep { .. }, _) => return true,
            (Stage::Waiting(_), _) => return false,
            (Stage::Running, Loan::Idle | Loan::Asleep { .. }) if full => {
                self.lent_refused += 1;
                return false;
            }
            (Stage::Running, Loan::AtServer { .. }) if full => {
                self.loans_refused += 1;
                return false;
            }
            (Stage::Running, Loan::Idle) => {
                known.stage = Stage::Lent;
                self.lent += 1;
            }
            (Stage::Running, Loan::AtServer { since }) => {
                (known.stage, known.was_on_loan) = (Stage::OnLoan { since }, true);
                self.on_loan.insert((since, caller.session));
                self.loans_total += 1;
            }
            (Stage::Running, Loan::Asleep { since }) => {
                (known.stage, known.was_on_loan) = (Stage::Asleep { since }, true);
                self.asleep.insert((since, caller.session));
                self.loans_total += 1;
            }
        }
        self.set_running(now, self.running - 1);
        self.fill(now);
        true
    }

    /// A transaction that lent its permit uses the server again: it runs at once, if need be above the limit.
    pub fn resume(&mut self, now: Nanos, caller: Caller) {
        if self.is_of_old(caller) {
            return;
        }
        let Some(known) = self.sessions.get_mut(&caller.session).filter(|known| known.stage.is_lent()) else {
            return;
        };
        let stage = std::mem::replace(&mut known.stage, Stage::Running);
        self.forget_loan(caller.session, stage);
        self.set_running(now, self.running + 1);
    }

    /// Most loans of permits while a statement is at the server; without it, and never less than, as many as
    /// the limit. What is out stays out.
    pub fn set_loans_max(&mut self, most: Option<usize>) {
        self.loans_beyond = most;
    }

    pub fn loans_max(&self) -> usize {
        self.loans_beyond.map_or(self.limit, |most| most.max(self.limit))
    }

    /// Age of the oldest statement whose permit is lent.
    pub(super) fn oldest_on_loan(&self, now: Nanos) -> Option<Nanos> {
        let first = [&self.on_loan, &self.asleep].into_iter().filter_map(|loans| loans.first());
        first.map(|(since, _)| now - *since).max()
    }

    pub(super) fn forget_loan(&mut self, session: SessionId, stage: Stage) {
        match stage {
            Stage::Lent => self.lent -= 1,
            Stage::OnLoan { since } => {
                self.on_loan.remove(&(since, session));
            }
            Stage::Asleep { since } => {
                self.asleep.remove(&(since, session));
            }
            Stage::Waiting(_) | Stage::Running => {}
        }
    }

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

    /// Most sessions of a tenant that may be exempt now: as many as may run, so that a tenant's exempt sessions cannot be
    /// a multiple of the limit. Those that are exempt already stay so.
    pub fn named_max(&self) -> usize {
        self.options.named_max.min(self.limit.max(self.options.named_min))
    }

    /// A session has no open transaction, and holds locks by what its texts say: whether it may pass the queue for that. Once for a
    /// session; [`Gate::unexempt`] ends it.
    pub fn exempt(&mut self, caller: Caller) -> bool {
        if self.is_of_old(caller) {
            return true;
        }
        let (most, dry_run) = (self.named_max(), self.options.dry_run);
        let tenant = self.tenants.get(caller.tenant);
        let room = tenant.exempt < most || dry_run;
        tenant.exempt += usize::from(room);
        tenant.exempt_refused += u64::from(!room);
        room
    }

    /// An exempted session holds something else too, or nothing any more, or is gone.
    pub fn unexempt(&mut self, caller: Caller) {
        if !self.is_of_old(caller) {
            let tenant = self.tenants.get(caller.tenant);
            tenant.exempt = tenant.exempt.saturating_sub(1);
        }
    }
}
