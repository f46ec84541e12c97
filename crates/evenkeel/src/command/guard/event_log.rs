//! The log of a running guard: events become lines on stderr, and nobody waits for whoever reads them.

use crate::clock::unix_time;
use crate::config::guard::GuardConfig;
use crate::guard::log;
use crate::view::lines::Lines;
use crate::view::log::{Form, line};
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
    lines: Lines,
    state: Mutex<State>,
}

struct State {
    form: Form,
    /// Steps of the limit since the last line that counts them.
    steps: u64,
}

impl EventLog {
    /// Starts a log in the form that the configuration asks for. From now on panics of the process are lines of it as well: by
    /// default they would be written to stderr in the thread that panics, which has sessions to serve.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(config: &GuardConfig) -> io::Result<Self> {
        let state = State { form: config.log, steps: 0 };
        let lines = Lines::start(io::stderr())?;
        log_panics(lines.clone(), config.log);
        Ok(Self { lines, state: Mutex::new(state) })
    }

    /// Goes on in the form that another configuration asks for.
    pub fn set(&self, config: &GuardConfig) {
        self.lock().form = config.log;
    }

    /// Counts the last steps, and waits a moment for all lines to be read.
    pub fn rest(&self) {
        self.count_steps(&mut self.lock());
        self.lines.finish(LAST_WORDS);
    }

    fn count_steps(&self, state: &mut State) {
        let (steps, form) = (std::mem::take(&mut state.steps), state.form);
        if steps > 0 {
            let parts = ("info", "limits", json!({ "changes": steps }));
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
        if log::is_step(event) {
            state.steps += 1;
            return;
        }
        if matches!(event, Event::Limit { .. }) {
            self.count_steps(&mut state);
        }
        self.lines.tell(log::line(event, unix_time().as_millis(), state.form), state.form);
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
