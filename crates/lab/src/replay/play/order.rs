//! What had ended before a command was sent, ends before it is sent again.

use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A command waits so long for others; then it is sent, and counted.
pub const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Commands in the order of their recorded ends, and which of them have ended again.
pub(super) struct Order {
    state: Mutex<Ended>,
    changed: Condvar,
}

struct Ended {
    /// One bit for each rank.
    bits: Vec<u64>,
    /// All ranks below this one have ended.
    prefix: u32,
    /// Since then.
    since: Nanos,
}

impl Ended {
    fn has(&self, rank: u32) -> bool {
        self.bits.get(rank as usize / 64).is_some_and(|bits| bits >> (rank % 64) & 1 == 1)
    }
}

impl Order {
    pub fn new(commands: usize) -> Self {
        let bits = vec![0; commands.div_ceil(64)];
        Self { state: Mutex::new(Ended { bits, prefix: 0, since: Nanos::ZERO }), changed: Condvar::new() }
    }

    /// Waits until so many have ended, of those that ended first; when that was, or zero without a wait. `None` where it took too long.
    pub fn wait(&self, needed: u32, clock: &Clock, stop: &Stop) -> Option<Nanos> {
        let until = clock.now() + Nanos::from(PATIENCE);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.prefix >= needed {
            return Some(Nanos::ZERO);
        }
        while state.prefix < needed && !stop.is_set() {
            if clock.now() >= until {
                return None;
            }
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(state.since)
    }

    /// The command of this rank has ended, or will not be sent.
    pub fn ended(&self, rank: u32, now: Nanos) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bits) = state.bits.get_mut(rank as usize / 64) {
            *bits |= 1 << (rank % 64);
        }
        let before = state.prefix;
        while state.has(state.prefix) {
            state.prefix += 1;
        }
        if state.prefix > before {
            state.since = now;
            self.changed.notify_all();
        }
    }
}
