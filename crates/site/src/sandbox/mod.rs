//! A sandbox is a private server: a mariadbd of our own on its own data directory, socket and loopback port.
//!
//! It reads no configuration but its own my.cnf and never touches the system's service. An ephemeral
//! sandbox ends with the process that holds it, whatever ends that process: the kernel kills the server
//! (its parent-death signal), and a janitor process removes what is left. A detached one stays until
//! somebody says `down`.
//!
//! `domain` says where it runs: its `cgroup`s, its file disk (`image`) and its network (`net`), which go with the server; `proof` tries
//! that each limit bites.
//!
//! `binary` finds and checks the server, `config` writes its my.cnf, `bootstrap` its data directory;
//! `server` starts it inside its `cgroup`, `startup` waits until it answers; `lifecycle` is the whole
//! of it, `registry` what stands on disk.

mod binary;
mod cgroup;
mod config;
mod diagnosis;
mod domain;
mod error;
mod image;
mod lifecycle;
mod net;
mod paths;
mod proof;
mod record;
mod registry;
mod server;
mod startup;

pub use binary::check_server;
pub use cgroup::{Cgroup, try_groups};
pub use domain::{DiskLimit, Domain, DomainError, FileDisk, FileSystem, Net};
pub use error::{Failure, LogTail, SandboxError};
pub use evenkeel_sense::cpu::CpuSet;
pub use lifecycle::Sandbox;
pub use paths::default_home;
pub use proof::try_disk;
pub use record::ProcessId;
pub use registry::{Cleaned, SandboxInfo, State, clean, find, find_as, list, logs, shell, wake};
pub use server::{Exit, free_port, spawn_kept};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the [`Sandbox`] value, and at most as long as this process, however it ends.
    #[default]
    Ephemeral,
    /// Until [`Sandbox::down`], whatever becomes of this process.
    Detached,
}

/// What a sandbox should be.
#[derive(Clone, Debug, Default)]
pub struct SandboxSpec {
    pub name: String,
    /// Root directory of all sandboxes; see [`default_home`].
    pub home: PathBuf,
    pub server_binary: Option<PathBuf>,
    /// Server settings that replace or add to the defaults.
    pub settings: BTreeMap<String, String>,
    /// Where MariaDB looks for plugins; `None` for its own folder.
    pub plugin_dir: Option<PathBuf>,
    /// TCP port on 127.0.0.1; `None` takes a free one.
    pub port: Option<u16>,
    /// Where it runs.
    pub domain: Domain,
    pub lifetime: Lifetime,
    pub data: Data,
}

/// What a new sandbox begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Data {
    #[default]
    Empty,
    /// The data of another sandbox under the same home, which is stopped: a copy, file by file.
    CopyOf(String),
    /// A data directory of a server that was stopped in order, or of a backup that was prepared: it is moved, and gets our account.
    Moved(PathBuf),
}

impl Data {
    /// The sandbox whose data are copied.
    fn original(&self) -> Option<&str> {
        match self {
            Self::CopyOf(other) => Some(other),
            _ => None,
        }
    }
}

impl SandboxSpec {
    /// An ephemeral sandbox with default settings and no limits.
    pub fn new(home: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self { name: name.into(), home: home.into(), ..Self::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxEvent {
    Bootstrapping {
        server: String,
    },
    /// The server was started and does not answer yet.
    Starting {
        pid: i32,
    },
    Ready {
        pid: i32,
        port: u16,
    },
    Stopping {
        pid: i32,
    },
    /// Something worth knowing: a stale pid file was removed, the server adjusted a setting.
    Note(String),
}

type Events<'a> = &'a mut dyn FnMut(SandboxEvent);
