//! Events of a guard, which views listen to: logs, metrics, the terminal.

use crate::control::{Available, Fault, Verdict};
use evenkeel_core::Nanos;

/// Something that an operator may want to know. Closed: every view names all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The guard is ready for clients.
    Listening {
        /// Where clients arrive.
        address: String,
        /// The address of the server behind the guard.
        backend: String,
        /// Where metrics are served, if they are.
        metrics: Option<String>,
        /// SHA-256 of the certificate that clients are shown.
        fingerprint: Option<String>,
    },
    /// The limit to begin with follows from something other than the configuration.
    Begins {
        /// The limit that it begins with.
        limit: u32,
        /// What it follows from.
        reason: String,
    },
    /// The limit changes.
    Limit {
        /// The limit so far.
        from: u32,
        /// The limit from now on, and why.
        verdict: Verdict,
        /// Nothing is held back: this is what the limit would be.
        dry_run: bool,
    },
    /// The limit comes down because the operator lowered the highest one; no controller decided it.
    MaxLimit {
        /// The limit so far.
        from: u32,
        /// The limit from now on.
        to: u32,
    },
    /// The controller or a sensor failed. This comes once, until all is well again.
    Fault {
        /// What failed, and how.
        fault: Fault,
        /// The limit that is kept.
        limit: u32,
    },
    /// All is well again after a fault.
    Recovered,
    /// The sensors that are there have changed.
    Sensors(Available),
    /// The liveness rule admitted more, because nothing ended.
    Liveness {
        /// How many since the last tick.
        admitted: u64,
        /// Time for which no transaction had ended.
        after: Nanos,
    },
    /// Clients were turned away or refused a transaction, with the reason.
    Refused {
        /// How many since the last such event.
        count: u64,
    },
    /// Connections ended because of bytes that are not the protocol.
    Malformed {
        /// How many since the last such event.
        count: u64,
    },
    /// Clients took longer for their login than they may, and were left.
    LoginTimeouts {
        /// How many since the last such event.
        count: u64,
    },
    /// Clients came beyond the most that may be connected at a time.
    ClientsRefused {
        /// How many since the last such event.
        count: u64,
    },
    /// Sessions ended because of a defect of the guard itself; all others went on.
    Panics {
        /// How many since the last such event.
        count: u64,
    },
    /// Logins reach another server than before: its gate is empty, and what still runs at the old one counts no more.
    Failover {
        /// How many since the last such event.
        count: u64,
    },
    /// Something that works, but perhaps not as the operator wants it. It is looked at once, at the start.
    Warned {
        /// What it is about, in a word.
        about: &'static str,
        /// What was seen.
        text: String,
        /// What to do next.
        hint: String,
    },
    /// The server does not take connections.
    BackendDown {
        /// Connections that failed since the last such event.
        failed: u64,
    },
    /// The server takes connections again.
    BackendUp,
    /// A new configuration was read.
    Reloaded {
        /// Keys that changed and hold from now on.
        applied: Vec<&'static str>,
        /// Keys that changed and hold only after a restart: what they said before holds until then.
        restart: Vec<&'static str>,
    },
    /// A new configuration could not be read; the old one holds.
    ReloadFailed {
        /// What is wrong with it.
        reason: String,
    },
    /// The journal cannot be written any more.
    JournalLost {
        /// The error of the system.
        reason: String,
    },
    /// The guard drains: it lets no new transaction begin, and those that run may end until the deadline.
    Draining {
        /// Transactions that run.
        running: usize,
        /// Time that is left to them.
        deadline: Nanos,
    },
    /// All transactions have ended, or the deadline is over.
    Drained {
        /// Transactions that were cut off.
        cut: usize,
    },
}

/// Somebody who listens to events. It is called from any thread and has to be quick.
pub trait Listener: Send + Sync {
    /// Takes note of one event.
    fn notify(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Listener for F {
    fn notify(&self, event: &Event) {
        self(event);
    }
}
