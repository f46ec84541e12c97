//! The gate, as the sessions of a simulation reach it.

use evenkeel_core::Nanos;
use evenkeel_guard::admission::{Census, Gate, Notice};
use evenkeel_guard::proxy::parts::Door;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A gate behind the virtual clock. Whatever is done with it is watched: nobody is let in above the limit.
pub struct Gateway {
    gate: Mutex<Gate>,
    now: AtomicU64,
    /// What dropped permits brought about.
    notices: Mutex<Vec<Notice>>,
    /// The first admission that must not have been.
    overrun: Mutex<Option<String>>,
    /// How sessions came in since that was asked last.
    entries: Mutex<Entries>,
}

/// How sessions came to a permit, or to a place in the queue for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// As others do: the queue decides.
    pub asked: usize,
    /// At once, past the queue.
    pub unqueued: usize,
    /// And permits that were lent, for whatever.
    pub lent: usize,
    /// Those of them that were lent for a pause, in which nothing of their session is at the server.
    pub paused: usize,
}

impl Gateway {
    pub fn new(gate: Gate) -> Self {
        let now = AtomicU64::new(0);
        Self {
            gate: Mutex::new(gate),
            now,
            notices: Mutex::default(),
            overrun: Mutex::default(),
            entries: Mutex::default(),
        }
    }

    pub fn set(&self, now: Nanos) {
        self.now.store(now.0, Ordering::Relaxed);
    }

    /// The notices that nobody has delivered yet.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *lock(&self.notices))
    }

    /// How sessions came in since that was asked last.
    pub fn entries(&self) -> Entries {
        std::mem::take(&mut *lock(&self.entries))
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
            count(&before.1, &after, &mut lock(&self.entries));
        }
        match own {
            Some(own) => own.extend(notices),
            None => lock(&self.notices).extend(notices),
        }
    }
}

/// Who is known to the gate and was not before has asked for a permit, or passed the queue.
fn count(before: &Census, after: &Census, entries: &mut Entries) {
    let known = |census: &Census| census.running + census.waiting + lent(census);
    let unqueued = after.unqueued.saturating_sub(before.unqueued);
    entries.lent += lent(after).saturating_sub(lent(before));
    entries.paused += after.lent.saturating_sub(before.lent);
    entries.unqueued += unqueued;
    entries.asked += known(after).saturating_sub(known(before) + unqueued);
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
