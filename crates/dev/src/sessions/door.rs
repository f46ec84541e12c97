//! The gate, as the sessions of a simulation reach it.

use evenkeel_core::Nanos;
use evenkeel_core::admission::{Census, Gate, Notice};
use evenkeel_guard::proxy::parts::Door;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A gate behind the virtual clock. Whatever is done with it is watched: nobody is let in above the limit.
pub struct Gateway {
    gate: Mutex<Gate>,
    now: AtomicU64,
    /// What dropped permits brought about.
    notices: Mutex<Vec<Notice>>,
    /// The first admission that must not have been.
    overrun: Mutex<Option<String>>,
    /// Whether a session has passed the queue since that was asked last.
    passed: AtomicBool,
}

impl Gateway {
    pub fn new(gate: Gate) -> Self {
        Self {
            gate: Mutex::new(gate),
            now: AtomicU64::new(0),
            notices: Mutex::default(),
            overrun: Mutex::default(),
            passed: AtomicBool::new(false),
        }
    }

    pub fn set(&self, now: Nanos) {
        self.now.store(now.0, Ordering::Relaxed);
    }

    /// The notices that nobody has delivered yet.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *lock(&self.notices))
    }

    /// Whether a session has passed the queue since that was asked last.
    pub fn was_passed(&self) -> bool {
        self.passed.swap(false, Ordering::Relaxed)
    }

    /// What was wrong with an admission.
    pub fn verdict(&self) -> Result<(), String> {
        lock(&self.overrun).clone().map_or(Ok(()), Err)
    }
}

impl Door for Gateway {
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Gate, Nanos)) {
        let (mut gate, now) = (lock(&self.gate), Nanos(self.now.load(Ordering::Relaxed)));
        let before = (gate.server(), gate.brief_census(now));
        act(&mut gate, now);
        let notices: Vec<Notice> = std::iter::from_fn(|| gate.notice()).collect();
        if gate.server() == before.0 {
            let after = gate.brief_census(now);
            if let Some(overrun) = overrun(&before.1, &after, &notices) {
                lock(&self.overrun).get_or_insert(overrun);
            }
            self.passed.fetch_or(after.unqueued > before.1.unqueued, Ordering::Relaxed);
        }
        match own {
            Some(own) => own.extend(notices),
            None => lock(&self.notices).extend(notices),
        }
    }
}

fn lent(census: &Census) -> usize {
    census.lent + census.loans + census.asleep
}

/// More run than before, none of them because it may not wait, by the liveness rule or because its permit was lent: then
/// the limit had room for them.
fn overrun(before: &Census, after: &Census, notices: &[Notice]) -> Option<String> {
    let grown = |old: usize, new: usize| new.saturating_sub(old);
    let excused = grown(before.unqueued, after.unqueued)
        + grown(before.by_liveness, after.by_liveness)
        + grown(lent(after), lent(before));
    let let_in = notices.iter().any(|notice| matches!(notice, Notice::Admitted(..)));
    let by_liveness = after.liveness_total > before.liveness_total;
    let more = grown(before.running, after.running) > excused || let_in && !by_liveness;
    (more && after.running > after.limit).then(|| {
        format!("let in above the limit of {}: {} run, before {}", after.limit, after.running, before.running)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
