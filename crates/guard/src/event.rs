//! Events of a guard, which views listen to: logs, metrics, the terminal.

use crate::control::Available;
use crate::proxy::Runaway;
use evenkeel_core::Nanos;
use evenkeel_core::admission::LaneCensus;
use evenkeel_core::control::{Fault, Verdict};

/// Something that an operator may want to know. Closed: every view names all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Listening {
        address: String,
        backend: String,
        /// Where metrics are served, if they are.
        metrics: Option<String>,
        /// SHA-256 of the certificate that clients are shown.
        fingerprint: Option<String>,
    },
    /// Where the limit starts, as far as a file of the last proven one was asked for.
    Start {
        limit: u32,
        why: String,
    },
    /// The limit changes.
    Limit {
        from: u32,
        verdict: Verdict,
        /// Nothing is held back: this is what the limit would be.
        dry_run: bool,
    },
    /// The limit comes down because the operator lowered the highest one; no controller decided it.
    MaxLimit {
        from: u32,
        to: u32,
    },
    /// The short lane and the long one, each with why its limit is what it is.
    Lanes([(LaneCensus, String); 2]),
    /// The controller or a sensor failed. This comes once, until all is well again.
    Fault {
        fault: Fault,
        limit: u32,
    },
    Recovered,
    Sensors(Available),
    /// The liveness rule admitted more, because nothing ended.
    Liveness {
        /// How many since the last tick.
        admitted: u64,
        after: Nanos,
    },
    /// Something happened to connections so many times since the last look.
    Counted {
        level: &'static str,
        name: &'static str,
        count: u64,
        /// What to do about it.
        hint: &'static str,
    },
    /// A connection was cut for bytes that are no protocol, and so many others since the last look.
    Malformed {
        client: String,
        why: String,
        others: u64,
    },
    /// A statement takes longer than it may, and so did so many others since the last look.
    Runaway {
        last: Runaway,
        others: u64,
    },
    /// Something that works, but perhaps not as the operator wants it. It is looked at once, at the start.
    Warned {
        about: &'static str,
        text: String,
        hint: String,
    },
    /// The server does not take connections.
    BackendDown {
        backend: String,
        failed: u64,
        /// Why the last connection failed.
        why: String,
    },
    BackendUp,
    Reloaded {
        /// Keys that changed and hold from now on.
        applied: Vec<&'static str>,
        /// Keys that changed and hold only after a restart: what they said before holds until then.
        restart: Vec<&'static str>,
    },
    /// A new configuration could not be read; the old one holds.
    ReloadFailed {
        reason: String,
    },
    /// The journal cannot be written any more.
    JournalLost {
        reason: String,
    },
    /// The guard drains: it lets no new transaction begin, and those that run may end until the deadline.
    Draining {
        running: usize,
        deadline: Nanos,
    },
    /// All transactions have ended, or the deadline is over.
    Drained {
        cut: usize,
    },
}

/// Somebody who listens to events. It is called from any thread and has to be quick.
pub trait Listener: Send + Sync {
    fn notify(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Listener for F {
    fn notify(&self, event: &Event) {
        self(event);
    }
}
