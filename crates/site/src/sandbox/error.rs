//! An error says what went wrong with a sandbox, and what to do about it.

use crate::server::TargetError;
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    pub path: PathBuf,
    pub lines: Vec<String>,
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return write!(f, "; the server's log {} says nothing", self.path.display());
        }
        write!(f, "\nend of the server's log {}:", self.path.display())?;
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("invalid sandbox name {name:?}: {reason}")]
    Name { name: String, reason: &'static str },
    #[error("invalid setting {name:?}: {reason}")]
    Setting { name: String, reason: String },
    #[error("no directory for sandboxes: neither EVENKEEL_HOME nor HOME is set")]
    NoHome,
    #[error("no server can keep its files in {}: {reason}", path.display())]
    Home { path: PathBuf, reason: &'static str },
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("no mariadbd found in {searched}")]
    NoServer { searched: String },
    #[error("{} cannot be the server: {reason}", path.display())]
    UnfitBinary { path: PathBuf, reason: String },
    #[error("sandbox {name:?} runs already (pid {pid})")]
    AlreadyRunning { name: String, pid: i32 },
    #[error("sandbox {name:?} is in use by another evenkeel, a study perhaps")]
    Busy { name: String },
    #[error("there is no sandbox {name:?} in {}", home.display())]
    Unknown { name: String, home: PathBuf },
    #[error("sandbox {name:?} is not running")]
    NotRunning { name: String },
    #[error("sandbox {name:?} runs already, with {}", differences.join(", "))]
    Differs { name: String, differences: Vec<String> },
    #[error("copying the data of sandbox {name:?}")]
    Copy { name: String, source: crate::copy::CopyError },
    #[error("the data of sandbox {name:?} are half restored")]
    HalfRestored { name: String, study: Option<String> },
    #[error("{} is damaged: {reason}", path.display())]
    Record { path: PathBuf, reason: String },
    #[error("not enough space in {}: {free_mib} MiB free, need {needed_mib} MiB", path.display())]
    NoSpace { path: PathBuf, free_mib: u64, needed_mib: u64 },
    #[error("cannot set {what}: {reason}")]
    Limit { what: String, reason: String, hint: &'static str },
    #[error("sandbox {name:?} {reason}")]
    FileDisk { name: String, reason: String },
    #[error("port {port} is taken")]
    PortTaken { port: u16 },
    #[error("the server of sandbox {name:?} {failure}{log}")]
    Server { name: String, failure: Failure, log: LogTail },
    #[error("stopped before sandbox {name:?} was up")]
    Stopped { name: String },
    #[error(transparent)]
    Target(#[from] TargetError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Setting(String),
    Port(u16),
    DiskFull,
    Memory,
    OutOfMemory,
    DataInUse(Option<i32>),
    Killed(i32),
    Ended(String),
    Silent(u64),
    Open(&'static str),
    Bootstrap(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(words) => write!(f, "refuses a setting: {words}"),
            Self::Port(port) => write!(f, "found its port {port} taken"),
            Self::DiskFull => write!(f, "found the disk full"),
            Self::Memory => write!(f, "could not allocate its memory"),
            Self::OutOfMemory => write!(f, "was killed at its memory limit"),
            Self::DataInUse(Some(pid)) => write!(f, "found its data directory in use by process {pid}"),
            Self::DataInUse(None) => write!(f, "found its data directory in use by another server"),
            Self::Killed(signal) => write!(f, "was killed by signal {signal}"),
            Self::Ended(status) => write!(f, "ended ({status})"),
            Self::Silent(seconds) => write!(f, "has not answered for {seconds} s"),
            Self::Open(what) => write!(f, "is open to others: {what}"),
            Self::Bootstrap(status) => write!(f, "could not create its data directory ({status})"),
        }
    }
}

/// What helps against a limit that does not bite.
const CORRECT: &str = "correct the limit (a group above may give less), or run without it";

impl SandboxError {
    pub(super) fn limit(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Limit { what: what.into(), reason: reason.into(), hint: CORRECT }
    }

    /// The kernel does not take a limit.
    pub(super) fn limit_io(what: impl Into<String>, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "run it as root where control groups are writable, or without the limit"
            }
            io::ErrorKind::Unsupported => {
                "run without the limit, or mount the controller (`grep cgroup /proc/mounts` shows those that are)"
            }
            _ => CORRECT,
        };
        let reason = match error.kind() {
            io::ErrorKind::InvalidInput => {
                format!("the kernel refuses it, most likely because a group above it has less ({error})")
            }
            _ => error.to_string(),
        };
        Self::Limit { what: what.into(), reason, hint }
    }

    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.into(), source }
    }

    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::AlreadyRunning { name, .. } => {
                format!("stop it first (evenkeel sandbox down {name}), or use it as it runs").into()
            }
            Self::NotRunning { name } => format!("start it: evenkeel sandbox up {name}").into(),
            Self::Differs { name, .. } => format!(
                "stop it first (evenkeel sandbox down {name}), or leave the flags out to use it as it is"
            )
            .into(),
            Self::HalfRestored { name, study } => format!(
                "resume the study that restores it{}, or start over: evenkeel sandbox clean {name}",
                study.as_ref().map_or(String::new(), |study| format!(
                    " (`evenkeel runs {study}` shows the command); if that study was deleted, in \
                     sandboxes/{name} of the home move the folder data away, rename the folder snapshot to \
                     data, and remove the file snapshot.study"
                ))
            )
            .into(),
            Self::Record { path, .. } => {
                let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
                format!("evenkeel sandbox clean {name} removes it with its data").into()
            }
            Self::Server { failure, .. } => failure.hint()?.into(),
            Self::Target(error) => error.hint()?.into(),
            _ => self.plain_hint()?.into(),
        })
    }

    fn plain_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Name { .. } => "take a name like demo or db-1",
            Self::Home { .. } => "name another folder by --home or EVENKEEL_HOME",
            Self::NoHome => "set EVENKEEL_HOME to a directory on a disk with space",
            Self::NoServer { .. } => {
                "install mariadb-server-core and mariadb-client-core, or name a program by --server-binary"
            }
            Self::UnfitBinary { .. } => {
                "name a mariadbd of version 10.4 or later, or a mysqld of 8.0.30 or later, by --server-binary"
            }
            Self::Busy { .. } => {
                "`evenkeel runs` shows a study that runs: wait for its end, stop it by Ctrl-C, or choose another name"
            }
            Self::Unknown { .. } => "evenkeel sandbox list shows what there is",
            Self::NoSpace { .. } => "free space, or set EVENKEEL_HOME to another file system",
            Self::Limit { hint, .. } => hint,
            Self::FileDisk { .. } => {
                "leave file-disk out, or choose another name; `evenkeel sandbox clean NAME` removes one with its data"
            }
            Self::PortTaken { .. } => "leave the port out: a free one is found",
            _ => return None,
        })
    }
}

impl Failure {
    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Setting(_) | Self::Open(_) => "correct or remove the setting (--set NAME=VALUE)",
            Self::Port(_) => "leave the port out: a free one is found",
            Self::DiskFull => "free space, or set EVENKEEL_HOME to another file system",
            Self::Memory | Self::OutOfMemory => {
                "give it more memory (memory=), or a smaller innodb_buffer_pool_size (--set)"
            }
            Self::DataInUse(_) => "stop the other server, or choose another sandbox name",
            Self::Killed(_) => "a user or the kernel (see dmesg) killed it; start it again",
            Self::Ended(_) | Self::Silent(_) => "the log says why; clean the sandbox to start over",
            Self::Bootstrap(_) => "the log says why",
        })
    }
}
