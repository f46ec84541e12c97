//! An error says what went wrong with a sandbox, and what to do about it.

use crate::server::TargetError;
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The end of a server's log, part of the text of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// The file of the log.
    pub path: PathBuf,
    /// Its last lines; empty where the server had not written any.
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

/// Why a sandbox cannot be had, or what became of it.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Not a name for a sandbox.
    #[error("invalid sandbox name {name:?}: {reason}")]
    Name {
        /// The name that was given.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Not a setting that a sandbox takes.
    #[error("invalid setting {name:?}: {reason}")]
    Setting {
        /// Name of the setting that was given.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Neither EVENKEEL_HOME nor XDG_STATE_HOME nor HOME says where sandboxes live.
    #[error("no directory for sandboxes: neither EVENKEEL_HOME nor HOME is set")]
    NoHome,
    /// No server can be told this path.
    #[error("no server can keep its files in {}: {reason}", path.display())]
    Home {
        /// The sandbox's folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The system refused something.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file or folder that it was to be done with.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// No mariadbd on this machine.
    #[error("no mariadbd found in {searched}")]
    NoServer {
        /// The folders that were searched, as one text.
        searched: String,
    },
    /// The program cannot serve as a sandbox's server.
    #[error("{} cannot be the server: {reason}", path.display())]
    UnfitBinary {
        /// The program that was named or found.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A server runs under this name.
    #[error("sandbox {name:?} runs already (pid {pid})")]
    AlreadyRunning {
        /// Name of the sandbox.
        name: String,
        /// Process of the server that runs.
        pid: i32,
    },
    /// Another evenkeel is starting, stopping or holding it.
    #[error("sandbox {name:?} is in use by another evenkeel")]
    Busy {
        /// Name of the sandbox.
        name: String,
    },
    /// There is nothing under this name.
    #[error("there is no sandbox {name:?} in {}", home.display())]
    Unknown {
        /// Name of the sandbox.
        name: String,
        /// Root directory of all sandboxes.
        home: PathBuf,
    },
    /// It exists and no server runs.
    #[error("sandbox {name:?} is not running")]
    NotRunning {
        /// Name of the sandbox.
        name: String,
    },
    /// It runs, and otherwise than it is asked for.
    #[error("sandbox {name:?} runs already, with {}", differences.join(", "))]
    Differs {
        /// Name of the sandbox.
        name: String,
        /// What differs, for example `CPUs 0 instead of 1`.
        differences: Vec<String>,
    },
    /// The data of another sandbox were not copied.
    #[error("copying the data of sandbox {name:?}")]
    Copy {
        /// Name of the sandbox that was to be copied.
        name: String,
        /// What went wrong.
        source: crate::copy::CopyError,
    },
    /// A restore of its data directory was cut short, or is under way.
    #[error("the data of sandbox {name:?} are half restored")]
    HalfRestored {
        /// Name of the sandbox.
        name: String,
        /// The study that restores it, where it has left a note.
        study: Option<String>,
    },
    /// Its own notes cannot be read.
    #[error("{} is damaged: {reason}", path.display())]
    Record {
        /// The sandbox.json that cannot be read.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system is (nearly) full.
    #[error("not enough space in {}: {free_mib} MiB free, need {needed_mib} MiB", path.display())]
    NoSpace {
        /// Directory of the sandbox.
        path: PathBuf,
        /// Free to us, MiB.
        free_mib: u64,
        /// What the server needs to start, MiB.
        needed_mib: u64,
    },
    /// A limit on CPUs or memory cannot be set here.
    #[error("cannot limit {what}: {reason}")]
    Limit {
        /// What was to be limited, with the value.
        what: String,
        /// What keeps the limit from being set.
        reason: String,
    },
    /// Somebody else listens there.
    #[error("port {port} is taken")]
    PortTaken {
        /// The TCP port that the server was to listen at.
        port: u16,
    },
    /// The server did not start, or did not go on.
    #[error("the server of sandbox {name:?} {failure}{log}")]
    Server {
        /// Name of the sandbox.
        name: String,
        /// What its log or its end says of it.
        failure: Failure,
        /// What it said last.
        log: LogTail,
    },
    /// Somebody asked to stop.
    #[error("stopped before sandbox {name:?} was up")]
    Stopped {
        /// Name of the sandbox.
        name: String,
    },
    /// The server runs and we cannot use it.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// What happened to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It refuses a setting; its own words.
    Setting(String),
    /// Its port was taken.
    Port(u16),
    /// Its file system is full.
    DiskFull,
    /// It asked for more memory than there is.
    Memory,
    /// The kernel killed it at its memory limit.
    OutOfMemory,
    /// Another server uses the data directory.
    DataInUse(Option<i32>),
    /// A signal ended it.
    Killed(i32),
    /// It ended by itself, with this status.
    Ended(String),
    /// It does not answer.
    Silent(u64),
    /// It is not private; what lets others in.
    Open(&'static str),
    /// The data directory could not be created.
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

impl SandboxError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.into(), source }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::AlreadyRunning { name, .. } => {
                format!("use it, or stop it: evenkeel sandbox down {name}").into()
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

    /// A hint that is the same whatever it is about.
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
            Self::Busy { .. } => "wait for the other evenkeel, or choose another name",
            Self::Unknown { .. } => "evenkeel sandbox list shows what there is",
            Self::NoSpace { .. } => "free space, or set EVENKEEL_HOME to another file system",
            Self::Limit { .. } => "run without the limit, or where cgroups are writable (as root)",
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
            Self::Memory | Self::OutOfMemory => "raise --memory or lower innodb_buffer_pool_size",
            Self::DataInUse(_) => "stop the other server, or choose another sandbox name",
            Self::Killed(_) => "a user or the kernel (see dmesg) killed it; start it again",
            Self::Ended(_) | Self::Silent(_) => "the log says why; clean the sandbox to start over",
            Self::Bootstrap(_) => "the log says why",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_sandbox_and_the_study_that_they_are_about() {
        let (name, study) = ("demo".to_owned(), Some("20261121-one".to_owned()));
        let path = PathBuf::from("/h/sandboxes/demo/sandbox.json");
        for (error, way_out) in [
            (SandboxError::NotRunning { name: name.clone() }, "evenkeel sandbox up demo"),
            (SandboxError::AlreadyRunning { name: name.clone(), pid: 1 }, "evenkeel sandbox down demo"),
            (SandboxError::Differs { name: name.clone(), differences: vec![] }, "evenkeel sandbox down demo"),
            (SandboxError::HalfRestored { name: name.clone(), study: None }, "evenkeel sandbox clean demo"),
            (
                SandboxError::HalfRestored { name: name.clone(), study: study.clone() },
                "evenkeel runs 20261121-one",
            ),
            (
                SandboxError::HalfRestored { name, study },
                "sandboxes/demo of the home move the folder data away, rename the folder snapshot",
            ),
            (SandboxError::Record { path, reason: String::new() }, "evenkeel sandbox clean demo"),
        ] {
            let hint = error.hint().unwrap();
            assert!(hint.contains(way_out) && !hint.contains("NAME"), "{error}: {hint}");
        }
    }
}
