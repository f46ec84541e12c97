//! What `evenkeel share top` and studies read from a host: of its metrics in JSON, what they show.

use crate::view::http;
use anyhow::Result;
use serde::Deserialize;

/// Times are in seconds, windows in units of cost.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// Since the host's loop started.
    pub at_s: f64,
    pub member: String,
    pub controller: String,
    pub why: String,
    /// The last window is kept because something fails.
    pub kept: bool,
    /// Something unmanaged loads the storage.
    pub outsider: bool,
    /// This host's part of the device over what its shares give it, where the storage does not follow windows.
    pub unfair: Option<f64>,
    /// What shares add to the window, as the published law counts it for this period; of another law nothing.
    pub beta: Option<f64>,
    /// Nobody has said what I/Os cost: what stands here as device time is made of figures that fit no storage in particular.
    pub assumed: bool,
    pub threshold_s: Option<f64>,
    pub period_s: f64,
    pub window: f64,
    pub total: f64,
    /// Mean outstanding at the device, in units of cost.
    pub outstanding: f64,
    pub waiting: usize,
    pub latency_s: Option<f64>,
    pub latency_all_s: Option<f64>,
    pub throughput: f64,
    /// Time that half and 99 % of the I/Os were held back at most.
    pub held_p50_s: Option<f64>,
    pub held_p99_s: Option<f64>,
    pub dropped: u64,
    pub clients: usize,
    pub disks: Vec<Disk>,
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Disk {
    pub name: String,
    pub shares: f64,
    pub wanted: f64,
    pub ios_per_s: f64,
    pub bytes_per_s: f64,
    /// Cost completed per second in the last period.
    pub rate: f64,
    pub reads: u64,
    /// Since the start, trims and zeroes among them.
    pub writes: u64,
    pub errors: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Member {
    pub name: String,
    /// It is the one that was asked.
    pub is_own: bool,
    pub age_s: f64,
    pub shares: f64,
    pub window: f64,
    /// Mean outstanding at the device, in units of cost.
    pub outstanding: f64,
    pub wanted: f64,
    /// Its latency; 0 where nothing has completed.
    pub latency_s: f64,
    pub ios_per_s: f64,
    /// Cost completed per second in its last period: its device time.
    pub rate: f64,
    /// It takes I/Os to cost something else than the one that was asked.
    pub costs_differ: bool,
}

/// Asks the host that serves its metrics at `address`.
///
/// # Errors
/// Nobody answers there, it is no host, it has not begun yet, or it is of another version.
pub fn read(address: &str) -> Result<Status> {
    let hint = "start `evenkeel share disk` with --metrics, and give its address here";
    http::get_json(address, "/status", hint)
}

#[cfg(test)]
impl From<&evenkeel_share::control::Snapshot> for Status {
    fn from(snapshot: &evenkeel_share::control::Snapshot) -> Self {
        serde_json::from_value(super::metrics::status(snapshot)).expect("all that is read is written")
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let status = Status::from(&snapshot());
        assert_eq!((status.window, status.throughput, status.members.len()), (8.5, 550.0, 2));
        assert_eq!((status.latency_s, status.latency_all_s), (Some(0.0152), Some(0.0149)));
        assert_eq!((status.threshold_s, status.total, status.dropped), (Some(0.015), 42.5, 3));
        assert_eq!(status.why, "bound by shares: this host has 1 of 5");
    }
}
