//! The gate, as the sessions of a simulation reach it.

use evenkeel_core::Nanos;
use evenkeel_core::admission::{Census, Keeper, Notice};
use evenkeel_guard::proxy::parts::Door;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A gate behind the virtual clock. Whatever is done with it is watched: nobody is let in above the limit.
pub struct Gateway {
    gate: Mutex<Keeper>,
    now: AtomicU64,
    /// What dropped permits brought about.
    notices: Mutex<Vec<Notice>>,
    /// The first admission that must not have been.
    overrun: Mutex<Option<String>>,
    /// Whether a session has passed the queue since that was asked last.
    passed: AtomicBool,
}

impl Gateway {
    pub fn new(gate: Keeper) -> Self {
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
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Keeper, Nanos)) {
        let (mut gate, now) = (lock(&self.gate), Nanos(self.now.load(Ordering::Relaxed)));
        let before = (gate.server(), gate.brief_census());
        act(&mut gate, now);
        let notices: Vec<Notice> = std::iter::from_fn(|| gate.notice()).collect();
        if gate.server() == before.0 {
            let after = gate.brief_census();
            if let Some(overrun) = overrun(&before.1, &after, &notices) {
                lock(&self.overrun).get_or_insert(overrun);
            }
            self.passed.fetch_or(after.unqueued_total > before.1.unqueued_total, Ordering::Relaxed);
        }
        match own {
            Some(own) => own.extend(notices),
            None => lock(&self.notices).extend(notices),
        }
    }
}

/// More run than before in a lane, above its limit, and none of them because it may not wait, by the liveness rule, because it
/// stood aside or because it was found to be long.
fn overrun(before: &Census, after: &Census, notices: &[Notice]) -> Option<String> {
    let grown = |total: fn(&Census) -> u64| (total(after) - total(before)) as usize;
    let passed = grown(|census| census.unqueued_total) + before.aside.saturating_sub(after.aside);
    let by_liveness = grown(|census| census.liveness_total);
    let excused = [passed + by_liveness, passed + by_liveness + grown(|census| census.moved_total)];
    let let_in = notices.iter().filter(|notice| matches!(notice, Notice::Admitted(..))).count();
    let lanes = before.lanes.iter().zip(&after.lanes).zip(excused);
    let found = lanes.filter(|((before, after), excused)| {
        let more = after.running.saturating_sub(before.running) > *excused;
        let from_queue = before.waiting > after.waiting && let_in > by_liveness;
        (more || from_queue) && after.running > after.limit
    });
    let told = |((before, after), _)| format!("let in above the limit: {after:?} behind {before:?}");
    found.map(told).next()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
