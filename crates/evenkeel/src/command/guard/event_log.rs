//! The log of a running guard: events become lines on stderr, and nobody waits for whoever reads them.

use crate::clock::{Clock, unix_time};
use crate::config::guard::GuardConfig;
use crate::guard::decisions::{Decisions, LoggedDecisions};
use crate::guard::log;
use crate::view::lines::Lines;
use crate::view::log::{Form, Parts, line};
use evenkeel_guard::event::{Event, Listener};
use serde_json::json;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// At the end the log waits at most so long for its last lines to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The log of events, which any thread may write to.
pub struct EventLog {
    clock: Clock,
    lines: Lines,
    state: Mutex<State>,
}

struct State {
    form: Form,
    decisions_logged: LoggedDecisions,
    decisions: Decisions,
}

impl EventLog {
    /// Starts a log in the form that the configuration asks for. From now on panics of the process are lines of it as well: by
    /// default they would be written to stderr in the thread that panics, which has sessions to serve.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(config: &GuardConfig) -> io::Result<Self> {
        let state = State {
            form: config.log,
            decisions_logged: config.log_decisions,
            decisions: Decisions::default(),
        };
        let lines = Lines::start(io::stderr())?;
        log_panics(lines.clone(), config.log);
        Ok(Self { clock: Clock::start(), lines, state: Mutex::new(state) })
    }

    /// Goes on in the form that another configuration asks for.
    pub fn set(&self, config: &GuardConfig) {
        let mut state = self.lock();
        (state.form, state.decisions_logged) = (config.log, config.log_decisions);
    }

    /// Writes the line of gathered steps, once it is due.
    pub fn look(&self) {
        let mut state = self.lock();
        let due = state.decisions.due(self.clock.now());
        self.write(due, state.form);
    }

    /// Writes the line of all steps that were gathered, and waits a moment for it to be read.
    pub fn rest(&self) {
        let mut state = self.lock();
        let rest = state.decisions.rest();
        self.write(rest, state.form);
        self.lines.finish(LAST_WORDS);
    }

    fn write(&self, parts: Option<Parts>, form: Form) {
        if let Some(parts) = parts {
            self.lines.tell(line(parts, unix_time().as_millis(), form), form);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for EventLog {
    fn notify(&self, event: &Event) {
        let mut state = self.lock();
        let decisions_logged = state.decisions_logged;
        if !state.decisions.keep(event, decisions_logged, self.clock.now()) {
            self.lines.tell(log::line(event, unix_time().as_millis(), state.form), state.form);
        }
    }
}

/// A panic as a line: it may hold any lock but that of the lines.
fn log_panics(lines: Lines, form: Form) {
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        // Nothing where the environment does not ask for it (RUST_BACKTRACE).
        let trace = Some(Backtrace::capture()).filter(|trace| trace.status() == BacktraceStatus::Captured);
        let (name, text) = (thread.name().unwrap_or_default(), info.to_string());
        let fields =
            json!({ "thread": name, "text": text, "backtrace": trace.map(|trace| trace.to_string()) });
        lines.tell(line(("error", "panic", fields), unix_time().as_millis(), form), form);
        if name == "main" {
            lines.finish(LAST_WORDS);
        }
    }));
}
