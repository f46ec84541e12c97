//! What had ended before a command was sent, ends before it is sent again.

use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
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
}

impl Ended {
    fn has(&self, rank: u32) -> bool {
        self.bits.get(rank as usize / 64).is_some_and(|bits| bits >> (rank % 64) & 1 == 1)
    }
}

impl Order {
    pub fn new(commands: usize) -> Self {
        let bits = vec![0; commands.div_ceil(64)];
        Self { state: Mutex::new(Ended { bits, prefix: 0 }), changed: Condvar::new() }
    }

    /// Waits until so many have ended, of those that ended first. False where that took too long.
    pub fn wait(&self, needed: u32, stop: &Stop) -> bool {
        let until = monotonic() + Nanos::from(PATIENCE);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.prefix < needed && !stop.is_set() {
            if monotonic() >= until {
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The command of this rank has ended, or will not be sent.
    pub fn ended(&self, rank: u32) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bits) = state.bits.get_mut(rank as usize / 64) {
            *bits |= 1 << (rank % 64);
        }
        let before = state.prefix;
        while state.has(state.prefix) {
            state.prefix += 1;
        }
        if state.prefix > before {
            self.changed.notify_all();
        }
    }
}
