//! A snapshot of a host that shares storage: all that views show of one moment.

use super::{Fault, Why};
use crate::{Counts, DiskCounts};
use evenkeel_bus::Dropped;
use evenkeel_core::Nanos;

#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment, by the host's clock.
    pub at: Nanos,
    pub member: String,
    pub law: &'static str,
    /// Latency threshold in seconds, where the law has one.
    pub threshold_s: Option<f64>,
    /// Time from one report to the next.
    pub period: Nanos,
    pub window: f64,
    pub why: Why,
    pub fault: Option<Fault>,
    /// This host's part of the device over what its shares give it, where the storage does not follow windows.
    pub unfair: Option<f64>,
    /// What shares add to the window, as the published law counts it for this period; of another law nothing.
    pub beta: Option<f64>,
    /// I/Os are taken to cost what the program assumes of any storage: nobody has said what they cost here.
    pub assumed: bool,
    /// Cost outstanding in the mean of the period.
    pub outstanding: f64,
    pub waiting: usize,
    /// Mean latency of this host in seconds.
    pub latency_s: Option<f64>,
    /// Mean latency of all hosts in seconds.
    pub latency_all_s: Option<f64>,
    pub completions: u64,
    /// Length of the period in seconds.
    pub seconds: f64,
    /// Window of all hosts together, as the law takes it; of those that are heard where it takes none.
    pub total: f64,
    pub disks: Vec<Disk>,
    /// The live members by name, this one among them.
    pub members: Vec<Member>,
    /// Reports dropped since the start, by reason.
    pub dropped: [(Dropped, u64); Dropped::ALL.len()],
    pub counts: Counts,
    pub totals: Totals,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    pub name: String,
    pub shares: f64,
    /// Mean wanted outstanding in the period.
    pub wanted: f64,
    /// I/Os completed per second in the period.
    pub ios_per_s: f64,
    /// Bytes read and written per second in the period.
    pub bytes_per_s: f64,
    /// Cost completed per second in the period.
    pub rate: f64,
    pub counts: DiskCounts,
    /// When the storage failed at an I/O last, on the host's clock.
    pub failed_at: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub is_own: bool,
    /// How long ago it was heard.
    pub age: Nanos,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub periods: u64,
    /// Periods in which the last window was kept because something failed.
    pub kept: u64,
}
