//! What hosts that share storage report of themselves. Views listen: logs, metrics, the terminal.

use super::control::{Fault, Why};
use super::{Errno, Failure};
use evenkeel_bus::Dropped;
use evenkeel_core::Nanos;

/// Something that an operator may want to know. Closed: every view names all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// This member has joined those of its array.
    Joined {
        /// Its name.
        member: String,
        /// From one report to the next.
        period: Nanos,
        /// What to know of the bus.
        note: Option<String>,
    },
    /// The window changes.
    Window {
        /// Until now.
        from: f64,
        /// From now on.
        to: f64,
        /// Why.
        why: Why,
    },
    /// The last window is kept; told once until all is well again.
    Fault {
        /// What failed.
        fault: Fault,
        /// The window that is kept.
        window: f64,
    },
    /// The window follows the law again.
    Recovered,
    /// Something that keeps to no law loads the storage: the threshold is not met though the window is at its floor.
    Outsider {
        /// Mean latency of all hosts in seconds.
        latency: f64,
        /// The threshold in seconds.
        threshold: f64,
    },
    /// It does no more.
    OutsiderGone,
    /// The storage is not divided by shares, whatever the windows: it serves hosts in turn, say, or bounds each of them.
    Unfair {
        /// This host's part of the device over the part that its shares give it.
        ratio: f64,
    },
    /// It is again.
    Fair,
    /// Another member is heard.
    Came {
        /// Its name.
        member: String,
    },
    /// A member has left, or is silent.
    Gone {
        /// Its name.
        member: String,
    },
    /// Another start of a member has the name of this one.
    Twin {
        /// The name.
        member: String,
    },
    /// A member takes I/Os to cost something else than this one does: shares are not of the same thing.
    CostsDiffer {
        /// Its name.
        member: String,
    },
    /// It does no more.
    CostsAgree {
        /// Its name.
        member: String,
    },
    /// Reports were dropped.
    Dropped {
        /// Why.
        why: Dropped,
        /// How many since this was told last.
        count: u64,
    },
    /// The storage of a disk failed at I/Os. The client has been told each; nothing is tried again.
    Failed {
        /// Name of the disk.
        disk: String,
        /// How many since this was told last.
        count: u64,
        /// The last one.
        last: Failure,
    },
    /// Clients came and found no room: they wait to be accepted.
    Crowded {
        /// How many since this was told last.
        count: u64,
        /// Where the last one came, and what there is too little of.
        last: String,
    },
    /// What was written to a disk and answered may be gone: a sync failed, or its file became shorter. Flushes fail from now on.
    Lost {
        /// Name of the disk.
        disk: String,
        /// Why.
        errno: Errno,
    },
    /// A new configuration holds.
    Reloaded {
        /// What of it holds after a restart only.
        ignored: Vec<String>,
    },
    /// A new configuration could not be read; the old one holds.
    ReloadFailed {
        /// Why.
        reason: String,
    },
}

impl Event {
    /// Whether it is one of those that come every period.
    pub fn is_routine(&self) -> bool {
        matches!(self, Self::Window { .. })
    }
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
