//! A snapshot of a host that shares storage: all that views show of one moment.

use super::{Fault, Why};
use crate::{Counts, DiskCounts};
use evenkeel_bus::Dropped;
use evenkeel_core::Nanos;

/// A host at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment, by the host's clock.
    pub at: Nanos,
    /// Name of this member.
    pub member: String,
    /// Name of the law that sets the window.
    pub law: &'static str,
    /// Latency threshold in seconds, where the law has one.
    pub threshold_s: Option<f64>,
    /// Time from one report to the next.
    pub period: Nanos,
    /// The window in force.
    pub window: f64,
    /// What bounds the window.
    pub why: Why,
    /// What fails, while something does.
    pub fault: Option<Fault>,
    /// This host's part of the device over what its shares give it, where the storage does not follow windows.
    pub unfair: Option<f64>,
    /// What shares add to the window, as the published law counts it for this period; of another law nothing.
    pub beta: Option<f64>,
    /// I/Os are taken to cost what the program assumes of any storage: nobody has said what they cost here.
    pub assumed: bool,
    /// Cost outstanding in the mean of the period.
    pub outstanding: f64,
    /// I/Os held back now.
    pub waiting: usize,
    /// Mean latency of this host in seconds.
    pub latency_s: Option<f64>,
    /// Mean latency of all hosts in seconds.
    pub latency_all_s: Option<f64>,
    /// I/Os completed in the period.
    pub completions: u64,
    /// Length of the period in seconds.
    pub seconds: f64,
    /// Window of all hosts together, as the law takes it; of those that are heard where it takes none.
    pub total: f64,
    /// The disks in their order.
    pub disks: Vec<Disk>,
    /// The live members by name, this one among them.
    pub members: Vec<Member>,
    /// Reports dropped since the start, by reason.
    pub dropped: [(Dropped, u64); Dropped::ALL.len()],
    /// Counts of the engine since the start.
    pub counts: Counts,
    /// Counts of the loop since the start.
    pub totals: Totals,
}

/// A disk of this host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Name of the disk.
    pub name: String,
    /// Shares of the disk.
    pub shares: f64,
    /// Mean wanted outstanding in the period.
    pub wanted: f64,
    /// I/Os completed per second in the period.
    pub ios_per_s: f64,
    /// Bytes read and written per second in the period.
    pub bytes_per_s: f64,
    /// Cost completed per second in the period.
    pub rate: f64,
    /// Counts since the start.
    pub counts: DiskCounts,
    /// When the storage failed at an I/O last, on the host's clock.
    pub failed_at: Option<Nanos>,
}

/// A member as it is heard here.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Name of the member.
    pub name: String,
    /// Whether it is this one.
    pub is_own: bool,
    /// How long ago it was heard.
    pub age: Nanos,
    /// Shares of its disks.
    pub shares: f64,
    /// The window that it had in force.
    pub window: f64,
    /// Mean cost outstanding in its last period.
    pub outstanding: f64,
    /// Mean cost wanted outstanding in its last period.
    pub wanted: f64,
    /// Its smoothed latency in seconds.
    pub latency_s: f64,
    /// I/Os completed per second in its last period.
    pub ios_per_s: f64,
    /// Cost completed per second in its last period: device time, as it takes I/Os to cost.
    pub rate: f64,
    /// Whether it takes I/Os to cost something else than this one does.
    pub costs_differ: bool,
}

/// Counts of the loop since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Periods that have ended.
    pub periods: u64,
    /// Periods in which the last window was kept because something failed.
    pub kept: u64,
}
