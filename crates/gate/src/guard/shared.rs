//! What the threads of a guard share: the gate, the way to one another, and what was planned.

use super::names::Backend;
use super::plan::Plan;
use super::stats::Stats;
use super::tls::TlsSetup;
use crate::admission::{Admission, Ended, Gate, Notice, SessionId, TenantId};
use crate::clock::Clock;
use crate::sys::{Endpoint, Wake};
use evenkeel_core::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One for a guard.
pub struct Shared {
    pub plan: Plan,
    pub backend: Backend,
    pub tls: TlsSetup,
    pub clock: Clock,
    pub stats: Stats,
    /// Ends the threads.
    pub stop: AtomicBool,
    /// Sessions that were ended at the deadline, in the middle of something.
    pub cut: AtomicUsize,
    deadline: AtomicU64,
    gate: Mutex<Gate>,
    mailboxes: Vec<Mailbox>,
}

/// Notices for the sessions of one thread.
#[derive(Debug)]
pub struct Mailbox {
    notices: Mutex<Vec<Notice>>,
    pub wake: Wake,
}

/// A panic while the lock was held left counts that are whole: every call finishes or changes nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(
        plan: Plan,
        backend: Vec<Endpoint>,
        tls: TlsSetup,
        gate: Gate,
        threads: usize,
    ) -> std::io::Result<Self> {
        let mailbox = |_| Ok(Mailbox { notices: Mutex::default(), wake: Wake::new()? });
        Ok(Self {
            plan,
            backend: Backend::new(backend),
            tls,
            clock: Clock::start(),
            stats: Stats::default(),
            stop: AtomicBool::new(false),
            cut: AtomicUsize::new(0),
            deadline: AtomicU64::new(0),
            gate: Mutex::new(gate),
            mailboxes: (0..threads).map(mailbox).collect::<std::io::Result<_>>()?,
        })
    }

    pub fn mailbox(&self, thread: usize) -> &Mailbox {
        &self.mailboxes[thread]
    }

    /// Asks the threads to end: at the end of their transactions, and at the deadline in any case.
    pub fn stop_by(&self, deadline: Nanos) {
        self.deadline.store(deadline.0, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        self.mailboxes.iter().for_each(|mailbox| mailbox.wake.wake());
    }

    /// Whether patience is at its end.
    pub fn is_past_deadline(&self) -> bool {
        self.clock.now().0 >= self.deadline.load(Ordering::Relaxed)
    }

    /// Does something with the gate, and tells the threads what follows from it for their sessions. Those of
    /// the thread `own` come back in `local`.
    pub fn with_gate<T>(
        &self,
        own: Option<usize>,
        local: &mut Vec<Notice>,
        act: impl FnOnce(&mut Gate) -> T,
    ) -> T {
        let mut gate = lock(&self.gate);
        let result = act(&mut gate);
        while let Some(notice) = gate.notice() {
            let thread = thread_of(session_of(notice));
            if Some(thread) == own {
                local.push(notice);
            } else if let Some(mailbox) = self.mailboxes.get(thread) {
                lock(&mailbox.notices).push(notice);
                mailbox.wake.wake();
            }
        }
        result
    }
}

impl Mailbox {
    /// Takes what has arrived.
    pub fn take(&self, into: &mut Vec<Notice>) {
        into.append(&mut lock(&self.notices));
    }
}

/// The session that a notice is for.
pub fn session_of(notice: Notice) -> SessionId {
    match notice {
        Notice::Admitted(session, _) | Notice::Rejected(session, _) | Notice::Close(session) => session,
    }
}

/// A session's number: its thread, its place there, and how often that was used before.
pub fn session_id(thread: usize, place: usize, generation: u32) -> SessionId {
    SessionId(u64::from(generation) << 32 | (thread as u64) << 24 | place as u64)
}

/// Most sessions of one thread.
pub const PLACES_MAX: usize = 1 << 24;

pub fn thread_of(session: SessionId) -> usize {
    (session.0 >> 24) as usize & 0xff
}

pub fn place_of(session: SessionId) -> usize {
    session.0 as usize & (PLACES_MAX - 1)
}

/// A session's way to the gate.
pub struct Desk<'a> {
    pub shared: &'a Shared,
    pub thread: usize,
    pub now: Nanos,
    /// What follows for other sessions of this thread.
    pub notices: &'a mut Vec<Notice>,
}

impl Desk<'_> {
    fn gate<T>(&mut self, act: impl FnOnce(&mut Gate, Nanos) -> T) -> T {
        let now = self.now;
        self.shared.with_gate(Some(self.thread), self.notices, |gate| act(gate, now))
    }

    pub fn tenant(&mut self, name: &str) -> TenantId {
        self.gate(|gate, _| gate.tenant(name))
    }

    pub fn ask(&mut self, session: SessionId, tenant: TenantId) -> Admission {
        self.gate(|gate, now| gate.ask(now, session, tenant))
    }

    pub fn enter(&mut self, session: SessionId, tenant: TenantId) {
        self.gate(|gate, now| gate.enter(now, session, tenant));
    }

    pub fn settle(&mut self, session: SessionId, tenant: TenantId, ended: Option<Ended>, open: bool) {
        self.gate(|gate, now| gate.settle(now, session, tenant, ended, open));
    }

    pub fn cancel(&mut self, session: SessionId) {
        self.gate(|gate, now| gate.cancel(now, session));
    }

    pub fn lend(&mut self, session: SessionId) -> bool {
        self.gate(|gate, now| gate.lend(now, session))
    }

    pub fn resume(&mut self, session: SessionId) {
        self.gate(|gate, now| gate.resume(now, session));
    }

    pub fn tick(&mut self) {
        self.gate(|gate, now| gate.tick(now));
    }
}
