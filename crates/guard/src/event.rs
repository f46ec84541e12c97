//! What the guard reports. Views listen: logs, metrics, the terminal.

use crate::control::{Available, Fault, Verdict};
use evenkeel_core::Nanos;

/// Something that an operator may want to know. Closed: every view names all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Ready for clients.
    Listening {
        /// Where.
        address: String,
        /// The server behind.
        backend: String,
        /// Where metrics are, if anywhere.
        metrics: Option<String>,
        /// SHA-256 of the certificate that clients are shown.
        fingerprint: Option<String>,
    },
    /// The limit changes.
    Limit {
        /// Until now.
        from: u32,
        /// What holds from now on, and why.
        verdict: Verdict,
        /// Nothing is held back: it is what would hold.
        dry_run: bool,
    },
    /// The limit comes down because the operator lowered the greatest one; no controller decided it.
    MaxLimit {
        /// Until now.
        from: u32,
        /// From now on.
        to: u32,
    },
    /// The controller or a sensor failed; told once until it is well again.
    Fault {
        /// What.
        fault: Fault,
        /// The limit that holds.
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
        /// Without any end for this long.
        after: Nanos,
    },
    /// Clients were turned away or refused a transaction, and told why.
    Refused {
        /// How many since this was told last.
        count: u64,
    },
    /// Connections ended because of bytes that are not the protocol.
    Malformed {
        /// How many since this was told last.
        count: u64,
    },
    /// Clients took longer for their login than they may, and were left.
    LoginTimeouts {
        /// How many since this was told last.
        count: u64,
    },
    /// Clients came beyond the most that may be connected at a time.
    ClientsRefused {
        /// How many since this was told last.
        count: u64,
    },
    /// Sessions ended because of a defect of the guard itself; all others went on.
    Panics {
        /// How many since this was told last.
        count: u64,
    },
    /// Logins reach another server than before: its gate is empty, and what still runs at the old one counts no more.
    Failover {
        /// How many since this was told last.
        count: u64,
    },
    /// Something that works and that the operator may not want so; looked at once, at the start.
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
        /// Connections that failed since this was told last.
        failed: u64,
    },
    /// It does again.
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
        /// Why.
        reason: String,
    },
    /// The journal cannot be written any more.
    JournalLost {
        /// Why.
        reason: String,
    },
    /// No new transactions; those that run may end until the deadline.
    Draining {
        /// Transactions that run.
        running: usize,
        /// Time that is left to them.
        deadline: Nanos,
    },
    /// All have ended, or the deadline has.
    Drained {
        /// Transactions that were cut off.
        cut: usize,
    },
}

/// Who listens to events. Called from any thread, and has to be quick.
pub trait Listener: Send + Sync {
    /// One event.
    fn notify(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Listener for F {
    fn notify(&self, event: &Event) {
        self(event);
    }
}
