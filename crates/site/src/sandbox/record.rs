//! sandbox.json says what a sandbox is, for the evenkeel that comes after this one.

use super::cgroup::Cgroup;
use super::paths::{Paths, write_private};
use super::process::{ProcessId, boot_id};
use super::{CpuSet, DiskLimit, SandboxError};
use crate::server::{Address, Target, TlsMode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

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
    pub cpus: Option<String>,
    pub memory: Option<u64>,
    #[serde(default)]
    pub disk: DiskLimit,
    /// Limits that were proved, and since which start of the machine.
    #[serde(default)]
    disk_proved: Vec<(String, DiskLimit)>,
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

    /// Whether the limit of the disk was proved since the machine was started.
    pub(super) fn is_disk_proved(&self) -> bool {
        self.disk_proved.contains(&(boot_id(), self.disk))
    }

    /// The limit of the disk was proved just now.
    pub(super) fn set_disk_proved(&mut self) {
        let boot = boot_id();
        self.disk_proved.retain(|(proved, _)| *proved == boot);
        self.disk_proved.push((boot, self.disk));
    }

    pub(super) fn cpu_set(&self) -> Option<CpuSet> {
        self.cpus.as_deref()?.parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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
}
