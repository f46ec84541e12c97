//! How a session gets its place, and waits for it.

use crate::server::Thd;
use crate::session::{Held, Session, Verdict, Waiting, lock};
use crate::sessions::{MOMENT, Sessions};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Caller, Rejection, SessionId, TenantId};
use evenkeel_core::gate::{Asked, AtFront, Class, Lane};
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Unattended for so long, the gate is open.
const LEASE: Nanos = Nanos::from_secs(2);
/// Who waits looks at the lease, and at its client, so often.
const CHECK: Duration = Duration::from_millis(500);
const WAITS: &CStr = c"waiting for a place (evenkeel)";

impl Sessions {
    /// A place in the lane. A kind that has turned out to be long while the session waited for a short place waits on for a long one.
    pub fn enter(&self, session: &Arc<Session>, lane: &mut Lane, kind: u64, tenant: TenantId) -> Verdict {
        let verdict = self.ask(session, *lane, tenant);
        let is_long = || self.class(session.thread, kind) == Some(Class::Long);
        if verdict != Verdict::Admitted || *lane == Lane::Long || !is_long() {
            return verdict;
        }
        let now = self.now();
        self.leave(Held::new(*lane, kind, now), now);
        *lane = Lane::Long;
        self.ask(session, *lane, tenant)
    }

    /// A place in the lane, for which the session waits where none is free.
    fn ask(&self, session: &Arc<Session>, lane: Lane, tenant: TenantId) -> Verdict {
        match self.fronts[lane as usize].enter() {
            AtFront::Free => return Verdict::Admitted,
            AtFront::WouldWait => {
                lock(self.shard(session.thread)).tally.would_wait += 1;
                return Verdict::Admitted;
            }
            AtFront::Shut => {}
        }
        let now = self.now();
        let caller = Caller { session: SessionId(session.thread), tenant, server: 0, thread: 0 };
        let asked = self.at_gate(|keeper| {
            let asked = keeper.gate.ask(now, lane, caller);
            if let Asked::Queued(stand) = asked {
                keeper.waiting.insert(session.thread, Waiting { session: Arc::clone(session), stand });
            }
            asked
        });
        match asked {
            Asked::Admitted(_) => Verdict::Admitted,
            Asked::Rejected(rejection) => Verdict::Rejected(rejection),
            Asked::Queued(_) => {
                let verdict = self.wait(session);
                let waited = self.now() - now;
                lock(self.shard(session.thread)).tally.waited(waited);
                verdict
            }
        }
    }

    fn wait(&self, session: &Arc<Session>) -> Verdict {
        let before = self.server.set_info(session.thd, WAITS.as_ptr());
        let verdict = loop {
            if let Some(verdict) = session.wait(CHECK) {
                break verdict;
            }
            if self.has_failed() {
                self.open();
            }
            if self.server.is_gone(session.thd) && self.leaves(session) {
                break Verdict::Killed;
            }
        };
        // The text lies in the library, which may be gone before the session is.
        self.server.set_info(session.thd, before);
        verdict
    }

    /// Whether it left the queue, and was not admitted meanwhile.
    fn leaves(&self, session: &Session) -> bool {
        let now = self.now();
        self.at_gate(|keeper| {
            let stand = keeper.waiting.get(&session.thread).map(|waiting| waiting.stand);
            let left = stand.is_some_and(|stand| keeper.gate.cancel(now, stand));
            if left {
                keeper.waiting.remove(&session.thread);
            }
            left
        })
    }

    /// How much of the time of the statement at hand is learnt from. One that slept when it was last looked at, and was never seen to
    /// use the server for long, waited for somebody else: it counts as usual short work, a tenth of what is long.
    pub fn worked(&self, session: &Session, lasted: Nanos) -> Nanos {
        if lasted < MOMENT {
            return lasted;
        }
        let usual = Nanos(lock(self.shard(session.thread)).threshold.0 / 10);
        let short = |held: &Held| held.place.lane == Lane::Short && (held.slept || held.place.aside);
        if lock(&session.held).as_ref().is_some_and(short) { lasted.min(usual) } else { lasted }
    }

    /// Whether something panicked, or nobody looks after the gate.
    pub fn has_failed(&self) -> bool {
        self.broken.load(Relaxed) || self.now() - Nanos(self.lease.load(Relaxed)) > LEASE
    }

    pub fn refuse(&self, thd: Thd, rejection: Rejection) -> bool {
        let text = std::ffi::CString::new(format!("evenkeel: {rejection}")).unwrap_or_default();
        self.options.shown.refused.fetch_add(1, Relaxed);
        !self.server.refuse(thd, self.options.refusal(), &text)
    }

    /// Whether no transaction has a place and nobody waits.
    pub fn is_empty(&self) -> bool {
        Lane::ALL.iter().all(|lane| self.fronts[*lane as usize].running() == 0)
            && self.options.shown.aside.load(Relaxed) == 0
    }

    /// Lets everybody in at once. The gate goes on to decide where whoever looks after it says so.
    pub fn open(&self) {
        let now = self.now();
        let open = evenkeel_core::gate::Options { watch: true, ..self.options.gate() };
        self.at_gate(|keeper| keeper.gate.set_options(now, open));
    }

    /// The gate is looked after: it decides on until [`LEASE`] has passed.
    pub fn renew(&self) {
        self.lease.store(self.now().0, Relaxed);
    }
}
