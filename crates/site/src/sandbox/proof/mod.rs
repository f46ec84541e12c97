//! A limit is proved from inside its group before a server runs under it: what was written may hold nothing back, where a controller
//! is mounted over, a device is not throttled, or something else is the limit.

mod cpu;
mod disk;
mod memory;

use super::cgroup::Groups;
use super::{CpuSet, Domain, Events, SandboxError, SandboxEvent};
pub use disk::try_disk;
pub(super) use disk::{prove as prove_disk, set as set_disk};
use evenkeel_os::Birth;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::process::Owned;
use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// How far what came through may be from a limit.
const NEAR: f64 = 0.08;
pub(super) const BITES: (f64, f64) = (1.0 - NEAR, 1.0 + NEAR);

/// Limits that were proved by this process, as they are written.
static PROVED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Does a proof, unless this process has done it for the same limit before.
pub(super) fn once(
    limit: &str,
    events: Events<'_>,
    prove: impl FnOnce() -> Result<String, SandboxError>,
) -> Result<(), SandboxError> {
    let is_proved = PROVED.lock().is_ok_and(|proved| proved.iter().any(|known| known == limit));
    if is_proved {
        return Ok(());
    }
    let found = prove()?;
    events(SandboxEvent::Note(format!("{limit} holds: {found}")));
    if let Ok(mut proved) = PROVED.lock() {
        proved.push(limit.to_owned());
    }
    Ok(())
}

/// Proves the limits of CPU time and memory in groups that nobody is in yet.
pub(super) fn prove(groups: &Groups, domain: &Domain, events: Events<'_>) -> Result<(), SandboxError> {
    let inside = Inside { groups, cpus: domain.cpus.as_ref() };
    let of = |domain: &Domain| domain.to_string();
    let cpus = Domain { cpus: domain.cpus.clone(), ..Domain::default() };
    if let Some(asked) = &domain.cpus {
        once(&of(&cpus), events, || inside.prove_cpus(asked))?;
    }
    if let Some(quota) = domain.quota {
        once(&of(&Domain { quota: Some(quota), ..cpus.clone() }), events, || inside.prove_quota(quota))?;
    }
    if let Some(weight) = domain.weight {
        let limit = Domain { weight: Some(weight), ..cpus };
        once(&of(&limit), events, || inside.prove_weight(weight, domain.quota))?;
    }
    if let Some(bytes) = domain.memory {
        let limit = Domain { memory: Some(bytes), ..Domain::default() };
        once(&of(&limit), events, || inside.prove_memory(bytes))?;
    }
    Ok(())
}

/// Whether a limit holds, by the parts of it that what came through may be: the words for that, or with why not.
pub(super) fn judge(
    limit: f64,
    came: f64,
    (least, most): (f64, f64),
    words: String,
) -> Result<String, String> {
    match came / limit {
        part if part > most => Err(format!("it has no effect: {words}")),
        part if part < least => Err(format!("something else limits it: {words}")),
        _ => Ok(words),
    }
}

/// Processes that are where the server is going to be.
struct Inside<'a> {
    groups: &'a Groups,
    cpus: Option<&'a CpuSet>,
}

impl Inside<'_> {
    /// A group inside a container or a slice may have other CPUs than were written to it.
    fn prove_cpus(&self, asked: &CpuSet) -> Result<String, SandboxError> {
        let what = Domain { cpus: Some(asked.clone()), ..Domain::default() }.to_string();
        let sleeper = self.start(&["/bin/sleep", "60"], None).map_err(untried(&what))?;
        let found: CpuSet = Affinity::of_process(sleeper.0.id()).iter().flat_map(Affinity::cpus).collect();
        match found == *asked {
            true => Ok(format!("a process inside may run on CPU {found}")),
            false => Err(refused(&what, format!("a process inside may run on CPU {found}"))),
        }
    }

    fn start(&self, words: &[impl AsRef<OsStr>], cpus: Option<&CpuSet>) -> io::Result<Owned> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let affinity = cpus.or(self.cpus.filter(|_| !self.groups.has("cpuset"))).map(Affinity::of);
        let groups = self.groups.doors().map_err(io::Error::other)?;
        Birth { dies_with_us: true, groups, affinity, ..Birth::default() }.of(&mut command);
        command.spawn().map(Owned)
    }
}

/// The words of a refusal.
fn refused(what: &str, reason: impl Into<String>) -> SandboxError {
    SandboxError::limit(what, reason)
}

/// The words where a process cannot be tried inside.
fn untried(what: &str) -> impl Fn(io::Error) -> SandboxError {
    move |error| refused(what, format!("no process can be tried in its group: {error}"))
}
