//! The gate, as the sessions of a simulation reach it.

use crate::admission::{Gate, Notice};
use crate::guard::seat::Door;
use evenkeel_core::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A gate behind the virtual clock.
pub struct Gateway {
    gate: Mutex<Gate>,
    now: AtomicU64,
    /// What dropped permits brought about.
    pub notices: Mutex<Vec<Notice>>,
}

impl Gateway {
    pub fn new(gate: Gate) -> Self {
        Self { gate: Mutex::new(gate), now: AtomicU64::new(0), notices: Mutex::default() }
    }

    pub fn set(&self, now: Nanos) {
        self.now.store(now.0, Ordering::Relaxed);
    }

    /// The notices that nobody has delivered yet.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Door for Gateway {
    fn reach(&self, own: Option<&mut Vec<Notice>>, act: &mut dyn FnMut(&mut Gate, Nanos)) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut gate, Nanos(self.now.load(Ordering::Relaxed)));
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let to = own.unwrap_or(&mut notices);
        to.extend(std::iter::from_fn(|| gate.notice()));
    }
}
