//! What only the program around the studies can do: be a guard or a host of shared storage in a process of its own, and read
//! workloads as users write them.

use crate::harness::Run;
use crate::profile::StudyError;
use crate::store::StoreError;
use evenkeel_core::Nanos;
use evenkeel_core::control::Sample;
use evenkeel_haul::HaulError;
use evenkeel_haul::dispatch::DispatchError;
use evenkeel_lab::data::DataError;
use evenkeel_lab::load::LoadError;
use evenkeel_lab::workload::user::Definition;
use evenkeel_os::clock::monotonic;
use evenkeel_os::tools::ToolError;
use evenkeel_sense::CpuOf;
use evenkeel_sense::cpu::{CpuReading, CpuUse, KernelThreads};
use evenkeel_sense::disk::Device;
use evenkeel_site::sandbox::SandboxError;
use evenkeel_site::server::TargetError;
use serde::Deserialize;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

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

/// As a host serves it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct HostStatus {
    /// End of the period, in seconds since the host began.
    pub at_s: f64,
    pub window: f64,
    /// Mean of I/Os under way.
    pub outstanding: f64,
    /// I/Os completed per second.
    #[serde(rename = "throughput")]
    pub ios_per_s: f64,
    /// Their mean latency in seconds; `None` where none was completed.
    pub latency_s: Option<f64>,
    /// What shares add to the window, as the published law counts it; `None` under another one.
    pub beta: Option<f64>,
    pub disks: Vec<DiskStatus>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct DiskStatus {
    /// Weight of the disk among all of the array.
    pub shares: f64,
    /// I/Os under way or held back, mean over the period.
    pub wanted: f64,
    /// I/Os completed since the host began.
    pub reads: u64,
    pub writes: u64,
}

/// What may go wrong in a published study.
pub type Result<T, E = PublishedError> = std::result::Result<T, E>;

pub type AnyError = Box<dyn Error + Send + Sync>;

/// Why a published study cannot go on. What was finished before stays in its folder. An error of a library is also its
/// source, so that whoever shows errors finds what that library advises.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    #[error("{0}")]
    Target(#[from] TargetError),
    #[error("{0}")]
    Data(#[from] DataError),
    #[error("{0}")]
    Load(#[from] LoadError),
    #[error("{0}")]
    Haul(#[from] HaulError),
    #[error("{0}")]
    Dispatch(#[from] DispatchError),
    #[error("{0}")]
    Server(#[from] StudyError),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Something failed while this was done.
    #[error("{doing}")]
    While { doing: String, source: AnyError },
    /// Something is not as it must be; with the way out, where there is one.
    #[error("{what}")]
    Wrong { what: String, hint: Option<String> },
    /// The program around the studies, or one of the system, failed; with the way out, where it is known.
    #[error("{source}")]
    Outside { source: AnyError, hint: Option<String> },
}

impl PublishedError {
    /// Something is not as it must be.
    pub fn wrong(what: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), hint: None }
    }

    /// Something is not as it must be, and this can be done about it.
    pub fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), hint: Some(hint.into()) }
    }

    /// This of a run of the plan is none that the study knows.
    pub(crate) fn unreadable(what: &str) -> Self {
        Self::with_hint(
            format!("plan.json has a run whose {what} cannot be read"),
            "restore plan.json from a backup; finished runs stay in the folder",
        )
    }

    /// What the user can do about it, where the error is of no library that says so itself.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Wrong { hint, .. } | Self::Outside { hint, .. } => hint.as_deref(),
            Self::While { source, .. } => source.downcast_ref::<Self>().and_then(Self::hint),
            _ => None,
        }
    }
}

/// Says what was being done when something failed.
pub(crate) trait While<T> {
    /// Adds what was being done.
    fn doing<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<AnyError>> While<T> for Result<T, E> {
    fn doing<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| PublishedError::While { doing: doing().into(), source: error.into() })
    }
}

/// What a piece of work gives, and the seconds that it takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let began = monotonic();
    let done = work()?;
    Ok((done, (monotonic() - began).as_secs_f64()))
}

/// What a thread of the study came to.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err(PublishedError::wrong("a client ended badly")))
}

/// What was read when it began.
pub(crate) struct Watch {
    at: Nanos,
    host: Option<CpuReading>,
    /// Of the processes of the study, this one last.
    own: Vec<(u32, Option<CpuReading>)>,
    /// A file disk that one of them works on, and the kernel's threads, of which some work for it.
    file_disk: Option<(Device, KernelThreads)>,
}

/// What is not known is `None`, as of a process that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    pub steal_percent: Option<f64>,
    /// Of all but the study, percent of the machine; without the kernel's threads where the study has a file disk.
    pub other_load_percent: Option<f64>,
    /// Of the first process of the study.
    pub first_s: Option<f64>,
    /// Of each process of the study, percent of one CPU.
    pub each_percent: Vec<Option<f64>>,
}

impl Used {
    /// Adds to a run what disturbed it.
    pub fn note(&self, run: &mut Run) {
        run.set("steal_percent", self.steal_percent);
        run.set("other_load_percent", self.other_load_percent);
    }
}

impl Watch {
    /// Of these processes beside our own.
    pub fn begin(processes: impl IntoIterator<Item = u32>) -> Self {
        let (at, host) = (monotonic(), CpuOf::Host.read());
        let own = processes.into_iter().chain([std::process::id()]);
        let own: Vec<_> = own.map(|process| (process, CpuOf::Process(process).read())).collect();
        // A server works in its data directory.
        let file_disk = own.iter().find_map(|(process, _)| {
            let device = Device::of_path(format!("/proc/{process}/cwd").as_ref())?;
            KernelThreads::behind(&device).map(|threads| (device, threads))
        });
        Self { at, host, own, file_disk }
    }

    pub fn end(&self) -> Used {
        let over = monotonic() - self.at;
        let used = |domain: CpuOf, before: &Option<CpuReading>| {
            CpuUse::between(before.as_ref()?, &domain.read()?, over)
        };
        let busy_s: Vec<Option<f64>> = (self.own.iter())
            .map(|(process, before)| Some(used(CpuOf::Process(*process), before)?.busy.as_secs_f64()))
            .collect();
        let host = used(CpuOf::Host, &self.host);
        let kernel = self
            .file_disk
            .as_ref()
            .and_then(|(device, before)| Some(KernelThreads::behind(device)?.since(before).as_secs_f64()));
        let other_load_percent =
            host.as_ref().zip(busy_s.iter().copied().sum()).map(|(host, own_s): (_, f64)| {
                let own_s = own_s + kernel.unwrap_or_default();
                // They are read one after the other, so that the difference may be a little below nothing.
                (100.0 * (host.busy.as_secs_f64() - own_s) / (host.capacity * over.as_secs_f64())).max(0.0)
            });
        let steal_percent = host.and_then(|host| host.steal);
        let first_s = busy_s.first().copied().flatten();
        let each_percent =
            busy_s.iter().map(|busy_s| Some(100.0 * (*busy_s)? / over.as_secs_f64())).collect();
        Used { steal_percent, other_load_percent, first_s, each_percent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_study_uses_disturbs_nobody_and_of_a_process_that_has_ended_nothing_is_known() {
        let watch = Watch::begin([]);
        // The kernel counts in ticks of 10 ms.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let other = watch.end().other_load_percent;
        assert!(other.is_none_or(|percent| (0.0..=110.0).contains(&percent)), "{other:?}");
        let used = Watch::begin([u32::MAX]).end();
        assert!(used.first_s.is_none() && used.other_load_percent.is_none(), "{used:?}");
    }
}
