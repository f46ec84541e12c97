//! sandbox.json says what a sandbox is, for the evenkeel that comes after this one.

use super::cgroup::Cgroup;
use super::paths::{Paths, write_private};
use super::{Domain, SandboxError};
use crate::server::{Address, Target, TlsMode};
use evenkeel_os::clock::Clock;
use evenkeel_os::process;
use evenkeel_sense::cpu::ProcessStat;
use evenkeel_sense::far;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const VERSION: u32 = 1;

/// The account that every start of a sandbox knows.
pub(super) const USER: &str = "evenkeel";

/// The file's content. It holds the password, so it has no `Debug` and is closed to other users.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub server_binary: PathBuf,
    pub server_version: String,
    pub socket: PathBuf,
    pub port: u16,
    /// Of the account `evenkeel` at this server only.
    pub password: String,
    pub settings: BTreeMap<String, String>,
    #[serde(default)]
    pub plugin_dir: Option<PathBuf>,
    #[serde(default)]
    pub domain: Domain,
    pub detached: bool,
    running: Option<Running>,
    pub groups: Vec<Cgroup>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Running {
    pid: i32,
    start_time: u64,
    boot_id: String,
}

impl Record {
    pub(super) fn new(socket: PathBuf, password: String) -> Self {
        Self { version: VERSION, socket, password, ..Self::default() }
    }

    /// `None` where there is none yet.
    pub(super) fn load(paths: &Paths) -> Result<Option<Self>, SandboxError> {
        let path = paths.record();
        let damaged = |reason: String| SandboxError::Record { path: path.clone(), reason };
        let text = match fs::read_to_string(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(damaged(error.to_string())),
            Ok(text) => text,
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match record.version {
            VERSION => Ok(Some(record)),
            other => Err(damaged(format!("it has version {other}, this evenkeel knows {VERSION}"))),
        }
    }

    /// Writes it in one step: a crash leaves the old one or the new one.
    pub(super) fn save(&self, paths: &Paths) -> Result<(), SandboxError> {
        let path = paths.record();
        let new = path.with_extension("json.new");
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| SandboxError::Record { path: path.clone(), reason: error.to_string() })?;
        let written = write_private(&new, &text).and_then(|()| fs::rename(&new, &path));
        if written.is_err() {
            // Nothing of it stays where the disk is full, as far as it can be removed.
            let _ = fs::remove_file(&new);
        }
        written.map_err(SandboxError::io("write", &path))
    }

    /// Notes which server runs, and in which groups.
    pub(super) fn set_running(&mut self, id: Option<ProcessId>, groups: &[Cgroup]) {
        self.running = id.map(|id| Running { pid: id.pid, start_time: id.start_time, boot_id: boot_id() });
        self.groups = groups.to_vec();
    }

    pub(super) fn live(&self) -> Option<ProcessId> {
        let running = self.running.as_ref().filter(|running| running.boot_id == boot_id())?;
        Some(ProcessId { pid: running.pid, start_time: running.start_time }).filter(ProcessId::is_alive)
    }

    pub(super) fn noted_pid(&self) -> Option<i32> {
        self.running.as_ref().map(|running| running.pid)
    }

    pub(super) fn target(&self, address: Address) -> Target {
        Target {
            address,
            user: USER.into(),
            password: Some(self.password.clone()),
            database: None,
            tls: TlsMode::Disabled,
            tls_ca: None,
        }
    }
}

/// 128 random bits from the kernel, in hexadecimal: secrets do not come from a seed.
pub(super) fn new_password() -> Result<String, SandboxError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = fs::File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(SandboxError::io("read", source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A process: its number, and when it started, because numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: i32,
    /// Start in clock ticks since the machine started (field 22 of /proc/PID/stat).
    pub start_time: u64,
}

impl ProcessId {
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, start_time: stat(pid)?.start })
    }

    /// Whether it still runs. One that ended and was not yet waited for does not run.
    pub fn is_alive(&self) -> bool {
        let is_it = |stat: ProcessStat| stat.start == self.start_time && !matches!(stat.state, 'Z' | 'X');
        stat(self.pid).is_some_and(is_it)
    }

    /// Sends a signal to this very process; `false` if it is gone.
    pub fn signal(&self, signal: i32) -> bool {
        self.is_alive() && process::signal(self.pid, signal)
    }

    /// Waits until it is gone; `false` if it is not after `limit`.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        let clock = Clock::start();
        while self.is_alive() {
            if Duration::from(clock.now()) >= limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    /// Asks it to end, and kills it where it has not after `patience`. Also wakes it if it was stopped, or is meanwhile.
    pub fn end(&self, patience: Duration) {
        /// From one look for somebody who stopped it to the next.
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        self.signal(libc::SIGTERM);
        let clock = Clock::start();
        loop {
            self.signal(libc::SIGCONT);
            let left = patience.saturating_sub(clock.now().into());
            if self.wait(left.min(LOOK_EVERY)) {
                return;
            }
            if left.is_zero() {
                break;
            }
        }
        self.signal(libc::SIGKILL);
        self.wait(Duration::from_secs(10));
    }
}

/// A running server that was started with this option file, whoever started it.
pub(super) fn server_with(my_cnf: &Path) -> Option<i32> {
    let option = [b"--defaults-file=", my_cnf.as_os_str().as_bytes()].concat();
    let processes = std::fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        // Behind the name of the program, which may be behind its loader and `--library-path FOLDER`.
        command.split(|byte| *byte == 0).take(5).any(|word| word == option).then_some(pid)
    })
}

fn stat(pid: i32) -> Option<ProcessStat> {
    ProcessStat::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Tells one start of the machine from another: start times count from there.
fn boot_id() -> String {
    far::boot_id().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    fn paths() -> (tempfile::TempDir, Paths) {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path(), "a").unwrap();
        paths.create().unwrap();
        (home, paths)
    }

    #[test]
    fn a_record_comes_back_as_it_was_and_is_closed_to_others() {
        let (_home, paths) = paths();
        assert!(Record::load(&paths).unwrap().is_none());
        let mut record = Record::new("/s".into(), new_password().unwrap());
        record.set_running(ProcessId::of(std::process::id() as i32), &[]);
        record.save(&paths).unwrap();
        let back = Record::load(&paths).unwrap().unwrap();
        assert_eq!(back.password, record.password);
        assert_eq!(back.live().unwrap().pid, std::process::id() as i32);
        let mode = fs::metadata(paths.record()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_process_of_an_earlier_start_of_the_machine_does_not_run() {
        let mut record = Record::new("/s".into(), String::new());
        record.set_running(ProcessId::of(std::process::id() as i32), &[]);
        record.running.as_mut().unwrap().boot_id = "earlier".into();
        assert_eq!(record.live(), None);
    }

    #[test]
    fn a_damaged_record_is_an_error_with_its_path() {
        let (_home, paths) = paths();
        fs::write(paths.record(), "{\"version\": 1").unwrap();
        assert!(matches!(Record::load(&paths), Err(SandboxError::Record { .. })));
    }

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_ends_and_is_known_to_be_gone_even_as_a_zombie() {
        for stopped in [false, true] {
            let mut child = sleeper();
            let id = ProcessId::of(child.id() as i32).unwrap();
            assert!(id.is_alive());
            assert!(!stopped || id.signal(libc::SIGSTOP));
            id.end(Duration::from_secs(60));
            assert!(!id.is_alive());
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_reused_number_is_never_signalled() {
        let mut child = sleeper();
        let id = ProcessId::of(child.id() as i32).unwrap();
        let earlier = ProcessId { start_time: id.start_time - 1, ..id };
        assert!(!earlier.is_alive());
        assert!(!earlier.signal(libc::SIGKILL));
        assert!(id.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_stopped_while_it_ends_is_woken_and_ends_in_order() {
        let script = "trap 'sleep 1; exit 7' TERM; while :; do sleep 0.05; done";
        let mut child = Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap();
        let id = ProcessId::of(child.id() as i32).unwrap();
        // The shell has its trap once it has children.
        let children = format!("/proc/{0}/task/{0}/children", id.pid);
        while std::fs::read_to_string(&children).is_ok_and(|pids| pids.is_empty()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let stops = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            id.signal(libc::SIGSTOP)
        });
        id.end(Duration::from_secs(20));
        stops.join().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7), "it was killed");
    }
}
