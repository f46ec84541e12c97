//! Who watches: our sampler, or a program of the system.

use crate::published::{PublishedError, Result, While};
use evenkeel_core::Nanos;
use evenkeel_os::process::{signal, signal_group};
use evenkeel_os::stop::Stop;
use evenkeel_sense::Domain;
use evenkeel_sense::sampler::{Sampler, SensePlan};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// A watcher that outlives us ends by itself after so many seconds.
const MOST_S: u32 = 3_600;
/// Our sampler spaces its looks by the length of a run, three seconds in a long one. One run after the other of this length has it look
/// about seven times a second, more often than the others do.
const SAMPLED: Nanos = Nanos::from_millis(1_200);
/// From one look at our sampler to the next.
const NAP: Duration = Duration::from_millis(10);

/// Who watches the machine while a load is made.
pub(super) enum Watcher {
    Nobody,
    Ours(Ours),
    Sar(Group),
    Nmon(Background),
}

/// Our sampler in a thread of its own.
pub(super) struct Ours {
    stop: Stop,
    thread: JoinHandle<Result<Nanos>>,
}

/// Samples the machine until it is asked to stop; CPU time that it took.
fn sample(stop: &Stop) -> Result<Nanos> {
    let mut price = Nanos::default();
    while !stop.is_set() {
        let plan = SensePlan { domain: Some(Domain::Host), duration: SAMPLED, ..SensePlan::default() };
        let sampler = Sampler::start(plan).doing(|| "starting a sampler")?;
        while !sampler.is_over() && !stop.is_set() {
            std::thread::sleep(NAP);
        }
        price += sampler.finish().price.unwrap_or_default();
    }
    Ok(price)
}

/// A child with its children, which end with this.
pub(super) struct Group(Child);

/// A process that went into the background, and ends with this.
pub(super) struct Background(i32);

impl Drop for Group {
    fn drop(&mut self) {
        signal_group(self.0.id(), libc::SIGKILL);
        let _ = self.0.wait();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        signal(self.0, libc::SIGKILL);
    }
}

/// The package of a program that is not there; `None` of one that is.
pub(super) fn missing(watcher: &str) -> Option<&'static str> {
    let package = match watcher {
        "sar" => "sysstat",
        "nmon" => "nmon",
        _ => return None,
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(watcher).is_file());
    (!there).then_some(package)
}

impl Watcher {
    /// Has it begin; what it writes goes into a folder.
    pub fn start(name: &str, scratch: &Path) -> Result<Self> {
        let record = scratch.join(name).display().to_string();
        match name {
            "ours" => {
                let stop = Stop::default();
                let stopped = stop.clone();
                let thread = std::thread::spawn(move || sample(&stopped));
                Ok(Self::Ours(Ours { stop, thread }))
            }
            "sar" => sar(&record).map(Self::Sar),
            "nmon" => nmon(&record).map(Self::Nmon),
            _ => Ok(Self::Nobody),
        }
    }

    /// Ends it; CPU time that it took.
    pub fn end(self) -> Result<Option<Nanos>> {
        let cpu = |pid| Domain::Process(pid).read().map(|reading| reading.busy);
        match self {
            Self::Nobody => Ok(None),
            Self::Ours(Ours { stop, thread }) => {
                stop.set();
                let sampled = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                sampled.map(Some)
            }
            Self::Sar(mut group) => {
                let leader = group.0.id();
                let used = cpu(leader)
                    .map(|own| children(leader).into_iter().filter_map(cpu).fold(own, |sum, of| sum + of));
                match group.0.try_wait().doing(|| "looking for sar")? {
                    None => Ok(used),
                    Some(status) => Err(ended("sar", &status.to_string())),
                }
            }
            Self::Nmon(background) => match u32::try_from(background.0).ok().and_then(cpu) {
                Some(used) => Ok(Some(used)),
                None => Err(ended("nmon", "its process is gone")),
            },
        }
    }
}

fn ended(program: &str, how: &str) -> PublishedError {
    PublishedError::with_hint(
        format!("{program} ended during the measurement: {how}"),
        format!("try `{program}` by hand; where it cannot run, take its folder out of PATH"),
    )
}

/// All that it can see, each second; its collector is a child of its.
fn sar(record: &str) -> Result<Group> {
    let mut command = Command::new("sar");
    command.args(["-A", "-o", record, "1", &MOST_S.to_string()]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(Group(command.spawn().doing(|| "starting sar")?))
}

/// With processes, each second; it goes into the background and says its number before.
fn nmon(record: &str) -> Result<Background> {
    let mut command = Command::new("nmon");
    command.args(["-F", record, "-s", "1", "-c", &MOST_S.to_string(), "-t", "-p"]);
    let output = command.stdin(Stdio::null()).output().doing(|| "starting nmon")?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    said.parse()
        .map(Background)
        .map_err(|_| ended("nmon", &format!("it printed {said:?} instead of its process")))
}

fn children(of: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
