//! Sessions that never queue because they hold locks by what their texts say, or may hold what cannot be read: anybody may
//! bring that about, so that each tenant may have only so many.

use super::{Caller, Gate};

impl Gate {
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
