//! Events of a host that shares storage, which views listen to: logs, metrics, the terminal.

use super::control::{Fault, Why};
use super::{Errno, Failure};
use evenkeel_bus::Dropped;
use evenkeel_core::Nanos;

/// Something that an operator may want to know. Closed: every view names all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// This member has joined those of its array.
    Joined {
        member: String,
        period: Nanos,
        /// What an operator should know of the bus.
        note: Option<String>,
    },
    Window {
        from: f64,
        to: f64,
        why: Why,
    },
    /// The last window is kept because something failed. This comes once, until all is well again.
    Fault {
        fault: Fault,
        window: f64,
    },
    Recovered,
    /// Something that keeps to no law loads the storage: the threshold is not met though the window is at its floor.
    Outsider {
        /// Mean latency of all hosts in seconds.
        latency: f64,
        /// The threshold in seconds.
        threshold: f64,
    },
    OutsiderGone,
    /// The storage is not divided by shares, whatever the windows: it serves hosts in turn, say, or bounds each of them.
    Unfair {
        /// This host's part of the device over the part that its shares give it.
        ratio: f64,
    },
    Fair,
    /// Another member is heard.
    Came {
        member: String,
    },
    /// A member has left, or is silent.
    Gone {
        member: String,
    },
    /// Another start of a member has the name of this one.
    Twin {
        member: String,
    },
    /// A member takes I/Os to cost something else than this one does: shares are not of the same thing.
    CostsDiffer {
        member: String,
    },
    /// The member takes I/Os to cost the same as this one again.
    CostsAgree {
        member: String,
    },
    /// Reports were dropped.
    Dropped {
        why: Dropped,
        count: u64,
    },
    /// The storage of a disk failed at I/Os. The client has an error for each of them; nothing is tried again.
    Failed {
        disk: String,
        count: u64,
        last: Failure,
    },
    /// Clients came and found no room: they wait to be accepted.
    Crowded {
        count: u64,
        /// Where the last one came, and what there is too little of.
        last: String,
    },
    /// What was written to a disk and answered may be gone: a sync failed, or its file became shorter. Flushes fail from now on.
    Lost {
        disk: String,
        errno: Errno,
    },
    /// A new configuration holds.
    Reloaded {
        /// What of it holds after a restart only.
        ignored: Vec<String>,
    },
    /// A new configuration could not be read; the old one holds.
    ReloadFailed {
        reason: String,
    },
}

impl Event {
    /// Whether it is one of those that come every period.
    pub fn is_routine(&self) -> bool {
        matches!(self, Self::Window { .. })
    }
}

/// Somebody who listens to events. It is called from any thread and has to be quick.
pub type Listener = dyn Fn(&Event) + Send + Sync;
