//! What `evenkeel share top` reads from a host: a snapshot as JSON, with its reasons in words.

use crate::view::http;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_share::control::{Snapshot, Why};
use serde::{Deserialize, Serialize};

/// A snapshot. Times are in seconds, windows in units of cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    pub name: String,
    pub shares: f64,
    pub wanted: f64,
    pub ios_per_s: f64,
    pub bytes_per_s: f64,
    /// Cost completed per second in the last period.
    pub rate: f64,
    /// Device time since the start, in seconds of one spindle, by the storage's own account.
    pub device_s: Option<f64>,
    pub reads: u64,
    /// Since the start, trims and zeroes among them.
    pub writes: u64,
    pub errors: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

impl From<&Snapshot> for Status {
    fn from(snapshot: &Snapshot) -> Self {
        let held = |q| snapshot.counts.held.quantile(q).map(Nanos::as_secs_f64);
        Self {
            at_s: snapshot.at.as_secs_f64(),
            member: snapshot.member.clone(),
            controller: snapshot.law.to_owned(),
            why: snapshot.why.to_string(),
            kept: snapshot.fault.is_some(),
            outsider: matches!(snapshot.why, Why::Outsider { .. }),
            unfair: snapshot.unfair,
            beta: snapshot.beta,
            assumed: snapshot.assumed,
            threshold_s: snapshot.threshold_s,
            period_s: snapshot.period.as_secs_f64(),
            window: snapshot.window,
            total: snapshot.total,
            outstanding: snapshot.outstanding,
            waiting: snapshot.waiting,
            latency_s: snapshot.latency_s,
            latency_all_s: snapshot.latency_all_s,
            throughput: snapshot.completions as f64 / snapshot.seconds,
            held_p50_s: held(0.5),
            held_p99_s: held(0.99),
            dropped: snapshot.dropped.iter().map(|(_, count)| count).sum(),
            clients: snapshot.counts.clients,
            disks: snapshot.disks.iter().map(Disk::from).collect(),
            members: snapshot.members.iter().map(Member::from).collect(),
        }
    }
}

impl From<&evenkeel_share::control::Disk> for Disk {
    fn from(disk: &evenkeel_share::control::Disk) -> Self {
        let counts = &disk.counts;
        Self {
            name: disk.name.clone(),
            shares: disk.shares,
            wanted: disk.wanted,
            ios_per_s: disk.ios_per_s,
            bytes_per_s: disk.bytes_per_s,
            rate: disk.rate,
            device_s: counts.device_s,
            reads: counts.reads,
            writes: counts.writes,
            errors: counts.errors,
        }
    }
}

impl From<&evenkeel_share::control::Member> for Member {
    fn from(member: &evenkeel_share::control::Member) -> Self {
        Self {
            name: member.name.clone(),
            is_own: member.is_own,
            age_s: member.age.as_secs_f64(),
            shares: member.shares,
            window: member.window,
            outstanding: member.outstanding,
            wanted: member.wanted,
            latency_s: member.latency_s,
            ios_per_s: member.ios_per_s,
            rate: member.rate,
            costs_differ: member.costs_differ,
        }
    }
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
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let status = Status::from(&snapshot());
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        assert_eq!((status.window, status.throughput, status.members.len()), (8.5, 550.0, 2));
        assert_eq!(status.why, "bound by shares: this host has 1 of 5");
    }
}
