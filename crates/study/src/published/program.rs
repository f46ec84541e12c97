//! What only the program around the studies can do: be a guard or a host of shared storage in a process of its own, and read
//! workloads as users write them.

use super::Result;
use evenkeel_core::control::Sample;
use evenkeel_lab::workload::user::Definition;
use std::path::{Path, PathBuf};

pub trait Program {
    /// Starts a guard, and returns when it listens and its controller has decided for the first time.
    fn guard(&self, plan: &GuardPlan) -> Result<Box<dyn Guard>>;

    /// Starts a host of shared storage with the configuration in a file, and returns when clients can connect.
    fn host(&self, config: &Path) -> Result<Box<dyn Host>>;

    /// Starts a host with the configuration of one disk, and returns when that is mounted at `at`.
    fn mount(&self, config: &Path, at: &Path) -> Result<Box<dyn Host>>;

    /// Reads the text of a workload file; `file` is its name in errors.
    fn workload(&self, file: &str, text: &str) -> Result<Definition>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuardPlan {
    /// The server: host:port or the path of its socket.
    pub backend: String,
    pub controller: &'static str,
    /// The limit to begin with, which is also the largest; `None`: the guard's defaults.
    pub limit: Option<u32>,
    /// Span of the means of the published controller, seconds; `None`: as published.
    pub span_s: Option<f64>,
    pub journal: PathBuf,
    /// Whether it counts events of the hardware, on all CPUs.
    pub counters: bool,
}

/// A running guard; it ends when this is dropped, and with this process at the latest.
pub trait Guard {
    /// Where clients connect: `127.0.0.1:port`.
    fn address(&self) -> &str;

    fn process(&self) -> u32;

    /// The ticks since the last call, or since it started.
    fn ticks(&mut self) -> Result<Vec<Tick>>;

    fn end(self: Box<Self>) -> Result<Vec<Tick>>;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// What the controller got to see.
    pub sample: Sample,
    pub decided: u32,
}

/// A running host of shared storage; it ends when this is dropped, and with this process at the latest.
pub trait Host {
    /// Where NBD clients connect: `127.0.0.1:port`; empty of one whose disk is mounted.
    fn nbd(&self) -> &str;

    fn check(&self) -> Result<()>;

    /// What it says of its last period; `None` before the first one has ended.
    fn status(&self) -> Result<Option<HostStatus>>;

    /// Has it unmount its disk, flush and end.
    fn stop(self: Box<Self>) -> Result<()>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostStatus {
    /// End of the period, in seconds since the host began.
    pub at_s: f64,
    pub window: f64,
    /// Mean of I/Os under way.
    pub outstanding: f64,
    /// I/Os completed per second.
    pub ios_per_s: f64,
    /// Their mean latency in seconds; `None` where none was completed.
    pub latency_s: Option<f64>,
    /// What shares add to the window, as the published law counts it; `None` under another one.
    pub beta: Option<f64>,
    pub disks: Vec<DiskStatus>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskStatus {
    /// Weight of the disk among all of the array.
    pub shares: f64,
    /// I/Os under way or held back, mean over the period.
    pub wanted: f64,
    /// I/Os completed since the host began.
    pub ios: u64,
}
