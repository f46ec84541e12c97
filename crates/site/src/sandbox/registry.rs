//! The registry lists the sandboxes that are on disk.

use super::binary::{ServerBinary, client};
use super::cgroup::Groups;
use super::config::checked;
use super::diagnosis::last_lines;
use super::lifecycle::Sandbox;
use super::paths::{Paths, all};
use super::record::{Record, server_with};
use super::server::option;
use super::startup::sweep;
use super::{Domain, Lifetime, SandboxError, SandboxEvent, SandboxSpec, net};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A server ends within this time where its evenkeel was killed.
const ENDING: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Running { pid: i32 },
    Stopped,
    Damaged(String),
}

/// A sandbox on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxInfo {
    pub name: String,
    /// Directory of the sandbox, with its data and its notes.
    pub dir: PathBuf,
    pub state: State,
    /// Whether it outlives the evenkeel that started it.
    pub detached: bool,
    /// The server, for example "MariaDB 10.11.19"; empty if damaged.
    pub server: String,
    pub port: u16,
    pub socket: PathBuf,
    pub settings: BTreeMap<String, String>,
    /// Where it listens while it is up.
    pub address: Ipv4Addr,
    /// Where it runs, or ran when it was last up.
    pub domain: Domain,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    pub name: String,
    pub bytes: u64,
}

pub fn list(home: &Path) -> Result<Vec<SandboxInfo>, SandboxError> {
    let mut found: Vec<_> = existing(home)?.iter().map(describe).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The running sandbox of this name; it goes on when the value is dropped.
pub fn find(home: &Path, name: &str) -> Result<Sandbox, SandboxError> {
    let (paths, record) = load(home, name)?;
    match record.live() {
        Some(id) => Ok(Sandbox::adopted(paths, record, id)),
        None => Err(SandboxError::NotRunning { name: name.into() }),
    }
}

/// The running sandbox of this name, if it is as `spec` asks: what the spec leaves open (no port, no limit, no
/// server, a setting that it does not name) may be anything.
pub fn find_as(spec: &SandboxSpec) -> Result<Sandbox, SandboxError> {
    let (paths, record) = load(&spec.home, &spec.name)?;
    let Some(id) = record.live() else { return Err(SandboxError::NotRunning { name: spec.name.clone() }) };
    if !record.detached {
        return Err(SandboxError::Busy { name: spec.name.clone() });
    }
    let differences = differences(&record, spec)?;
    match differences.is_empty() {
        true => Ok(Sandbox::adopted(paths, record, id)),
        false => Err(SandboxError::Differs { name: spec.name.clone(), differences }),
    }
}

/// What a running sandbox has otherwise than it is asked for, each as `CPUs 0 instead of 1`.
fn differences(record: &Record, spec: &SandboxSpec) -> Result<Vec<String>, SandboxError> {
    let mut pairs = Vec::new();
    if let Some(path) = &spec.server_binary {
        let wanted = ServerBinary::find(Some(path))?.path;
        pairs.push(("the server", record.server_binary.display().to_string(), wanted.display().to_string()));
    }
    if let Some(port) = spec.port {
        pairs.push(("port", record.port.to_string(), port.to_string()));
    }
    let found = record.domain.parts();
    for (key, wanted) in spec.domain.parts() {
        let found = found.iter().find(|(name, _)| *name == key).map_or("no limit", |(_, value)| value);
        pairs.push((key, found.to_owned(), wanted));
    }
    let settings = checked(&spec.settings)?;
    for (name, wanted) in &settings {
        let found = record.settings.get(name).map_or("the default", String::as_str);
        pairs.push((name, found.to_owned(), wanted.clone()));
    }
    let differing = pairs.into_iter().filter(|(_, found, wanted)| found != wanted);
    Ok(differing.map(|(what, found, wanted)| format!("{what} {found} instead of {wanted}")).collect())
}

/// The sandbox of this name, running; a detached one that is stopped is started with the settings it had.
pub fn wake(
    home: &Path,
    name: &str,
    stop: &Stop,
    events: &mut dyn FnMut(SandboxEvent),
) -> Result<Sandbox, SandboxError> {
    let (_, record) = load(home, name)?;
    if record.live().is_some() || !record.detached {
        return find(home, name);
    }
    let spec = SandboxSpec {
        server_binary: Some(record.server_binary.clone()),
        settings: record.settings.clone(),
        domain: record.domain.clone(),
        lifetime: Lifetime::Detached,
        ..SandboxSpec::new(home, name)
    };
    Sandbox::up(&spec, stop, events)
}

/// The last `lines` lines of a sandbox's log, running or not.
pub fn logs(home: &Path, name: &str, lines: usize) -> Result<Vec<String>, SandboxError> {
    let (paths, _) = load(home, name)?;
    let path = paths.log();
    let bytes = fs::read(&path).map_err(SandboxError::io("read", &path))?;
    Ok(last_lines(&String::from_utf8_lossy(&bytes), lines))
}

/// Removes stopped sandboxes with their data: those named, or all that stopped in good order if none is.
pub fn clean(home: &Path, names: &[String]) -> Result<Vec<Cleaned>, SandboxError> {
    if names.is_empty() {
        let stopped = list(home)?.into_iter().filter(|info| info.state == State::Stopped);
        // One that another evenkeel is just starting is no error here.
        return stopped
            .map(|info| remove(home, &info.name))
            .filter(|outcome| {
                !matches!(outcome, Err(SandboxError::Busy { .. } | SandboxError::AlreadyRunning { .. }))
            })
            .collect();
    }
    names.iter().map(|name| remove(home, name)).collect()
}

/// Becomes the server's own client on a running sandbox, as root by the socket; returns only if that fails.
pub fn shell(home: &Path, name: &str, arguments: &[OsString]) -> SandboxError {
    let both = find(home, name).and_then(|sandbox| Ok((client()?, option("--socket=", sandbox.socket()))));
    let (program, socket) = match both {
        Ok(both) => both,
        Err(error) => return error,
    };
    let error =
        Command::new(&program).args(["--no-defaults", "--user=root"]).arg(socket).args(arguments).exec();
    SandboxError::io("start", &program)(error)
}

fn load(home: &Path, name: &str) -> Result<(Paths, Record), SandboxError> {
    let paths = Paths::new(home, name)?;
    match Record::load(&paths)? {
        Some(record) => Ok((paths, record)),
        None => Err(SandboxError::Unknown { name: name.into(), home: home.into() }),
    }
}

fn existing(home: &Path) -> Result<Vec<Paths>, SandboxError> {
    let dir = all(home)?;
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(SandboxError::io("list", &dir))?,
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let paths = names.filter_map(|name| Paths::new(home, &name).ok());
    Ok(paths.filter(|paths| paths.record().exists()).collect())
}

fn describe(paths: &Paths) -> SandboxInfo {
    let (record, state) = match Record::load(paths) {
        Ok(Some(record)) => {
            let state = record.live().map_or(State::Stopped, |id| State::Running { pid: id.pid });
            (Some(record), state)
        }
        Ok(None) => (None, State::Damaged("sandbox.json is gone".into())),
        Err(error) => (None, State::Damaged(error.to_string())),
    };
    let record = record.unwrap_or_else(|| Record::new(PathBuf::new(), String::new()));
    SandboxInfo {
        name: paths.name.clone(),
        dir: paths.dir.clone(),
        state,
        detached: record.detached,
        server: record.server_version,
        port: record.port,
        socket: record.socket,
        settings: record.settings,
        address: net::address(&net::name(paths.hash())).unwrap_or(Ipv4Addr::LOCALHOST),
        domain: record.domain,
        bytes: disk_use(&paths.dir),
    }
}

fn remove(home: &Path, name: &str) -> Result<Cleaned, SandboxError> {
    let paths = Paths::new(home, name)?;
    if !paths.dir.is_dir() {
        return Err(SandboxError::Unknown { name: name.into(), home: home.into() });
    }
    // A damaged record does not say whether a server runs, its command line does. One whose evenkeel was killed is just ending.
    let clock = Clock::start();
    while let Some(pid) = server_with(&paths.my_cnf()) {
        if Duration::from(clock.now()) > ENDING {
            return Err(SandboxError::AlreadyRunning { name: name.into(), pid });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let lock = paths.lock()?;
    if let Ok(Some(record)) = Record::load(&paths) {
        drop(Groups::adopt(record.groups.clone()));
    }
    sweep(&paths)?;
    let bytes = disk_use(&paths.dir);
    fs::remove_dir_all(&paths.dir).map_err(SandboxError::io("remove", &paths.dir))?;
    drop(lock);
    let _ = paths.dir.parent().map(fs::remove_dir);
    Ok(Cleaned { name: name.into(), bytes })
}

/// Bytes that the files below a directory take; files that vanish meanwhile count as nothing.
fn disk_use(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let is_mounted =
        |dir: &Path, found: &fs::Metadata| fs::metadata(dir).is_ok_and(|above| above.dev() != found.dev());
    let size = |entry: fs::DirEntry| match entry.metadata() {
        // What is mounted there is in a file that is counted.
        Ok(found) if found.is_dir() && !is_mounted(dir, &found) => disk_use(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
