//! Where a probe runs, and how a program is started there.

use crate::published::{PublishedError, Result, While};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::process::{Birth, Owned};
use evenkeel_sense::cpu::CpuSet;
use evenkeel_site::sandbox::{Cgroup, Sandbox};
use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{ScopedJoinHandle, sleep};
use std::time::Duration;

/// The machine, or the domain of a running private server.
#[derive(Clone, Debug)]
pub struct Place {
    pub groups: Vec<Cgroup>,
    /// Those of its own.
    pub cpus: Option<CpuSet>,
    /// Its network namespace and its address there; `None` of one that shares the machine's.
    pub network: Option<(PathBuf, Ipv4Addr)>,
    /// Where files of probes go.
    pub folder: PathBuf,
}

const NAP: Duration = Duration::from_millis(10);
/// Of what a program said that failed.
const LINES: usize = 4;

impl Place {
    /// The machine without limits; files of probes go to `folder`, which exists.
    pub fn host(folder: impl Into<PathBuf>) -> Self {
        Self { groups: Vec::new(), cpus: None, network: None, folder: folder.into() }
    }

    /// The domain of a server; files of probes go to the file system of its data. It holds while that server is up.
    /// Errors: the server has ended, or its data directory cannot be read.
    pub fn of(sandbox: &Sandbox) -> Result<Self> {
        sandbox.check()?;
        // A file disk has them behind a link.
        let data = sandbox.dir().join("data").canonicalize().doing(|| "looking for the data directory")?;
        Ok(Self {
            groups: sandbox.cgroups().to_vec(),
            cpus: sandbox.domain().cpus.clone(),
            network: sandbox.network(),
            folder: data.parent().unwrap_or(&data).to_owned(),
        })
    }

    /// The machine, on its CPUs.
    pub(crate) fn outside(&self) -> Self {
        Self { groups: Vec::new(), network: None, ..self.clone() }
    }

    /// Folder of the group that a controller holds it by; one for all in version 2.
    pub(super) fn group_of(&self, controller: &str) -> Option<&Path> {
        let group = self.groups.iter().find(|group| group.controllers.iter().any(|held| held == controller));
        group.map(|group| group.path.as_path())
    }

    /// Names a file there.
    pub(super) fn file(&self, name: &str) -> ProbeFile {
        ProbeFile(self.folder.join(format!("{}-{name}", std::process::id())))
    }

    /// Where a server in this place is reached from `client`.
    pub(crate) fn address_from(&self, client: &Self) -> Ipv4Addr {
        match (&self.network, &client.network) {
            (Some((_, own)), _) => *own,
            // The machine has the first address of the network that it shares with all domains.
            (None, Some((_, other))) => {
                let [a, b, c, _] = other.octets();
                Ipv4Addr::new(a, b, c, 1)
            }
            (None, None) => Ipv4Addr::LOCALHOST,
        }
    }

    /// Starts a program there, which ends with this thread at the latest.
    pub(crate) fn start(&self, command: &mut Command) -> Result<Started> {
        let program = command.get_program().to_string_lossy().into_owned();
        self.enter(command)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(PublishedError::with_hint(
                format!("there is no {program}"),
                format!("install it (Debian: apt install {program})"),
            )),
            outcome => {
                Ok(Started { child: Owned(outcome.doing(|| format!("starting {program}"))?), program })
            }
        }
    }

    /// Has a program be born in its control groups, in its network and on its CPUs.
    fn enter(&self, command: &mut Command) -> Result<()> {
        let door = |group: &Cgroup| File::options().write(true).open(group.path.join("cgroup.procs"));
        let groups = self.groups.iter().map(door).collect::<std::io::Result<_>>();
        let network = self.network.as_ref().map(|(path, _)| File::open(path)).transpose();
        let birth = Birth {
            dies_with_us: true,
            groups: groups.doing(|| "opening the control groups of a domain")?,
            network: network.doing(|| "opening the network of a domain")?,
            affinity: self.cpus.as_ref().map(|cpus| Affinity::of(cpus.iter())),
            ..Birth::default()
        };
        birth.of(command);
        Ok(())
    }

    /// Runs a program there to its end; what it printed.
    /// Errors: it is not installed, or failed; with what it said.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Option<String>> {
        self.start(command)?.ended(patience, stop)
    }
}

/// A file that only a probe needs; it is removed when this is dropped.
pub(super) struct ProbeFile(PathBuf);

impl ProbeFile {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ProbeFile {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A running program; it ends when this is dropped.
pub(crate) struct Started {
    child: Owned,
    program: String,
}

impl Started {
    pub fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.0.try_wait(), Ok(None))
    }

    /// Waits for its end; what it printed, and `None` where somebody asked to stop.
    pub fn ended(mut self, patience: Duration, stop: &Stop) -> Result<Option<String>> {
        let (out, errors) = (self.child.0.stdout.take(), self.child.0.stderr.take());
        let until = monotonic() + Nanos::from(patience);
        std::thread::scope(|scope| {
            let (out, errors) = (scope.spawn(|| text(out)), scope.spawn(|| text(errors)));
            let status = loop {
                if let Some(status) =
                    self.child.0.try_wait().doing(|| format!("waiting for {}", self.program))?
                {
                    break status;
                }
                if stop.is_set() || monotonic() > until {
                    // Only then do the threads come to their end.
                    let _ = self.child.0.kill();
                    return match stop.is_set() {
                        true => Ok(None),
                        false => Err(PublishedError::wrong(format!(
                            "{} did not end within {} s",
                            self.program,
                            patience.as_secs()
                        ))),
                    };
                }
                sleep(NAP);
            };
            let said = |thread: ScopedJoinHandle<'_, String>| thread.join().unwrap_or_default();
            let (out, errors) = (said(out), said(errors));
            if status.success() {
                return Ok(Some(out));
            }
            // Both iperf3, in its JSON, and fio say last what went wrong.
            let said: Vec<&str> = out.lines().chain(errors.lines()).map(str::trim).collect();
            let said = said[said.len().saturating_sub(LINES)..].join(" ");
            Err(PublishedError::wrong(format!("{} ended with {status}: {said}", self.program)))
        })
    }
}

fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What came until an error says more than nothing.
    let _ = from.map(|mut from| from.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: &str, words: &[&str], stop: &Stop) -> Result<Option<String>> {
        Place::host("/").run(Command::new(program).args(words), Duration::from_secs(20), stop)
    }

    #[test]
    fn a_program_says_what_it_printed_or_why_it_failed_and_one_that_is_not_there_which_package_has_it() {
        let stop = Stop::default();
        assert_eq!(run("sh", &["-c", "echo yes"], &stop).unwrap().as_deref(), Some("yes\n"));
        let error = run("sh", &["-c", "echo because >&2; exit 3"], &stop).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("because"), "{error}");
        let error = run("iperf4", &[], &stop).unwrap_err();
        assert_eq!(error.to_string(), "there is no iperf4");
        assert_eq!(error.hint(), Some("install it (Debian: apt install iperf4)"));
    }

    #[test]
    fn whoever_asks_to_stop_waits_for_no_program() {
        let stop = Stop::default();
        stop.set();
        assert!(run("sleep", &["600"], &stop).unwrap().is_none());
    }

    #[test]
    fn the_machine_is_reached_from_a_domain_by_the_first_address_of_its_network() {
        let network = |host| Some((PathBuf::from("/proc/1/ns/net"), Ipv4Addr::new(10, 200, 77, host)));
        let host = Place::host("/");
        let (a, b) =
            (Place { network: network(2), ..host.clone() }, Place { network: network(3), ..host.clone() });
        assert_eq!(host.address_from(&host), Ipv4Addr::LOCALHOST);
        assert_eq!(host.address_from(&a), Ipv4Addr::new(10, 200, 77, 1));
        assert_eq!(
            (b.address_from(&a), a.address_from(&host)),
            (Ipv4Addr::new(10, 200, 77, 3), Ipv4Addr::new(10, 200, 77, 2))
        );
    }
}
