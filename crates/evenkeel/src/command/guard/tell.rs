//! The log of a running guard: events become lines on stderr.

use crate::clock::{Clock, unix_time};
use crate::config::guard::GuardConfig;
use crate::guard::decisions::{Decisions, Told};
use crate::guard::log;
use crate::view::log::{Form, line};
use evenkeel_gate::event::{Event, Listener};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whoever has something to tell tells it here, from any thread.
pub struct Teller {
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    form: Form,
    told: Told,
    decisions: Decisions,
}

impl Teller {
    /// One that tells as the configuration asks.
    pub fn new(config: &GuardConfig) -> Self {
        let state = State { form: config.log, told: config.log_decisions, decisions: Decisions::default() };
        Self { clock: Clock::start(), state: Mutex::new(state) }
    }

    /// Tells as another configuration asks.
    pub fn set(&self, config: &GuardConfig) {
        let mut state = self.lock();
        (state.form, state.told) = (config.log, config.log_decisions);
    }

    /// Tells what was gathered for long enough.
    pub fn look(&self) {
        let mut state = self.lock();
        let due = state.decisions.due(self.clock.now());
        write(due.map(|parts| line(parts, unix_time().as_millis(), state.form)));
    }

    /// Tells all that was gathered.
    pub fn rest(&self) {
        let mut state = self.lock();
        let rest = state.decisions.rest();
        write(rest.map(|parts| line(parts, unix_time().as_millis(), state.form)));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Teller {
    fn tell(&self, event: &Event) {
        let mut state = self.lock();
        let told = state.told;
        if !state.decisions.keep(event, told, self.clock.now()) {
            write(Some(log::line(event, unix_time().as_millis(), state.form)));
        }
    }
}

/// To stderr; one that is gone stops no guard.
fn write(line: Option<String>) {
    if let Some(line) = line {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}
