//! What `evenkeel share top` reads from a host: a snapshot as JSON, with its reasons in words.

use crate::failure::WithHint;
use crate::view::http;
use anyhow::{Result, bail};
use evenkeel_core::Nanos;
use evenkeel_share::control::{Snapshot, Why};
use serde::{Deserialize, Serialize};

/// Version of the form.
pub const VERSION: u32 = 2;

/// A snapshot. Times are in seconds, windows in units of cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the form.
    pub version: u32,
    /// Since the host's loop started.
    pub at_s: f64,
    /// Name of this member.
    pub member: String,
    /// Name of the law that sets its window.
    pub controller: String,
    /// Why the window is what it is.
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
    #[serde(default)]
    pub assumed: bool,
    /// Latency above which the law closes the window; absent where the law has none.
    pub threshold_s: Option<f64>,
    /// From one report to the next.
    pub period_s: f64,
    /// The window in force.
    pub window: f64,
    /// Window of all hosts together.
    pub total: f64,
    /// Mean outstanding at the device, in units of cost.
    pub outstanding: f64,
    /// I/Os held back now.
    pub waiting: usize,
    /// Mean latency of this host.
    pub latency_s: Option<f64>,
    /// Mean latency of all hosts.
    pub latency_all_s: Option<f64>,
    /// I/Os completed per second in the last period.
    pub throughput: f64,
    /// Time that half and 99 % of the I/Os were held back at most.
    pub held_p50_s: Option<f64>,
    /// The time of 99 % of them.
    pub held_p99_s: Option<f64>,
    /// Reports dropped since the start.
    pub dropped: u64,
    /// Clients that are connected.
    pub clients: usize,
    /// The disks in their order.
    pub disks: Vec<Disk>,
    /// The live members by name.
    pub members: Vec<Member>,
}

/// A disk of this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// The name of the disk or member.
    pub name: String,
    /// The shares of the disk.
    pub shares: f64,
    /// Mean wanted outstanding.
    pub wanted: f64,
    /// I/Os per second in the last period.
    pub ios_per_s: f64,
    /// Bytes read and written per second in the last period.
    pub bytes_per_s: f64,
    /// Cost completed per second in the last period.
    pub rate: f64,
    /// Device time since the start, in seconds of one spindle, by the storage's own account.
    pub device_s: Option<f64>,
    /// Since the start.
    pub reads: u64,
    /// Since the start, trims and zeroes among them.
    pub writes: u64,
    /// Since the start.
    pub errors: u64,
}

/// A live member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The name of the disk or member.
    pub name: String,
    /// It is the one that was asked.
    pub is_own: bool,
    /// How long ago it was heard.
    pub age_s: f64,
    /// Shares of its disks.
    pub shares: f64,
    /// The window that it has in force.
    pub window: f64,
    /// Mean outstanding at the device, in units of cost.
    pub outstanding: f64,
    /// Mean wanted outstanding.
    pub wanted: f64,
    /// Its latency; 0 where nothing has completed.
    pub latency_s: f64,
    /// I/Os per second in its last period.
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
            version: VERSION,
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
/// Nobody answers there, no period has ended yet, or it speaks another version.
pub fn read(address: &str) -> Result<Status> {
    let hint = "start `evenkeel share disk` with --metrics, and give its address here";
    let (code, body) = http::get(address, "/status").hint(hint)?;
    if code != 200 {
        bail!("{address} answers {code}: {}", body.trim());
    }
    let status: Status = serde_json::from_str(&body).hint(hint)?;
    if status.version != VERSION {
        bail!("the host at {address} speaks version {} of its status, this is {VERSION}", status.version);
    }
    Ok(status)
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
