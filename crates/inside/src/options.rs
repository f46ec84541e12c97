//! What the operator chose, and what is shown: numbers that any thread reads and writes.

use evenkeel_core::Nanos;
pub use evenkeel_core::gate::Mode;
use evenkeel_core::gate::{self, Rules};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Figures for SHOW STATUS.
#[derive(Debug, Default)]
pub struct Shown {
    pub limit: [AtomicU64; 2],
    pub running: [AtomicU64; 2],
    pub waiting: [AtomicU64; 2],
    pub aside: AtomicU64,
    pub completed: AtomicU64,
    pub rolled_back: AtomicU64,
    pub would_wait: AtomicU64,
    pub waits: AtomicU64,
    pub waited_ms: AtomicU64,
    pub refused: AtomicU64,
    pub liveness: AtomicU64,
    pub runaways: AtomicU64,
    pub long_from_ms: AtomicU64,
    pub oldest_ms: AtomicU64,
    /// Why the limits are what they are.
    pub reasons: [Mutex<String>; 2],
    /// Digest of the oldest statement, and what the gate does.
    pub oldest: Mutex<String>,
    pub state: Mutex<String>,
}

#[derive(Debug)]
pub struct Options {
    mode: AtomicU32,
    administrators: RwLock<Vec<String>>,
    rules: RwLock<Arc<Rules>>,
    /// Of both lists: sessions look at it before each statement, and at the lists only where it has changed.
    version: AtomicU64,
    /// Longest wait in milliseconds; 0 for none.
    pub max_wait_ms: AtomicU64,
    pub aside_max: AtomicU64,
    /// From when on a statement is a runaway, in milliseconds, 0 for never; and whether it is killed.
    pub runaway_ms: AtomicU64,
    pub kills: AtomicBool,
    /// Limit of the long lane; 0 to find it.
    pub long_limit: AtomicU64,
    pub refusal: AtomicU32,
    open_until: AtomicU64,
    pub shown: Shown,
}

const OFF: u32 = 0;
const WATCH: u32 = u32::MAX;
const AUTO: u32 = u32::MAX - 1;

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: AtomicU32::new(WATCH),
            administrators: RwLock::new(vec!["root".to_owned()]),
            rules: RwLock::default(),
            version: AtomicU64::new(1),
            max_wait_ms: AtomicU64::new(0),
            aside_max: AtomicU64::new(64),
            runaway_ms: AtomicU64::new(0),
            kills: AtomicBool::new(false),
            long_limit: AtomicU64::new(0),
            refusal: AtomicU32::new(1040),
            open_until: AtomicU64::new(0),
            shown: Shown::default(),
        }
    }
}

impl Options {
    pub fn mode(&self) -> Mode {
        match self.mode.load(Relaxed) {
            OFF => Mode::Off,
            WATCH => Mode::Watch,
            AUTO => Mode::Auto,
            limit => Mode::Fixed(limit),
        }
    }

    pub fn set_mode(&self, mode: Mode) {
        let mode = match mode {
            Mode::Off => OFF,
            Mode::Watch => WATCH,
            Mode::Auto => AUTO,
            Mode::Fixed(limit) => limit,
        };
        self.mode.store(mode, Relaxed);
    }

    /// Names with commas between them.
    pub fn set_administrators(&self, names: &str) {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        *self.administrators.write().unwrap_or_else(PoisonError::into_inner) = names.collect();
        self.version.fetch_add(1, Relaxed);
    }

    pub fn set_rules(&self, rules: Rules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        self.version.fetch_add(1, Relaxed);
    }

    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long a statement may run, where there is a bound.
    pub fn runaway(&self) -> Option<Nanos> {
        Some(self.runaway_ms.load(Relaxed)).filter(|bound| *bound > 0).map(Nanos::from_millis)
    }

    pub fn is_administrator(&self, name: &str) -> bool {
        let known = self.administrators.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().any(|administrator| administrator == name)
    }

    pub fn lists_version(&self) -> u64 {
        self.version.load(Relaxed)
    }

    pub fn refusal(&self) -> u16 {
        self.refusal.load(Relaxed) as u16
    }

    pub fn open_until(&self, instant: Nanos) {
        self.open_until.store(instant.0, Relaxed);
    }

    pub fn is_open(&self, now: Nanos) -> bool {
        now < Nanos(self.open_until.load(Relaxed))
    }

    /// What the gate gets of it.
    pub fn gate(&self) -> gate::Options {
        let aside_max = self.aside_max.load(Relaxed) as usize;
        let watch = matches!(self.mode(), Mode::Watch | Mode::Off);
        gate::Options { aside_max, watch, ..gate::Options::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_is_kept_as_it_was_set() {
        let options = Options::default();
        assert_eq!(options.mode(), Mode::Watch);
        for mode in [Mode::Auto, Mode::Off, Mode::Watch, Mode::Fixed(12)] {
            options.set_mode(mode);
            assert_eq!(options.mode(), mode);
        }
    }
}
