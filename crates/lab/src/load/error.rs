//! Why a run of load could not take place.

use evenkeel_core::arrivals::RateError;
use evenkeel_site::server::Address;
use evenkeel_wire::LoginError;
use std::io;
use std::path::PathBuf;

/// Why a run of load could not take place. What goes wrong once it runs is counted in its result instead.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan asks for no rate, or an impossible one.
    #[error("arrival rate: {0}")]
    Rate(#[from] RateError),
    /// The plan asks for none of something that is needed.
    #[error("plan asks for no {0}")]
    Nothing(&'static str),
    /// A load that was to begin together with this one cannot begin, or somebody asked to stop before.
    #[error("the load on another server, which had to start at the same instant, could not start")]
    CalledOff,
    /// The host has no address.
    #[error("cannot resolve {host}: {source}")]
    Resolve {
        /// Name of the host.
        host: String,
        /// What the resolver answered.
        source: io::Error,
    },
    /// The path of the unix socket does not fit into an address.
    #[error("path of the unix socket is too long: {0}")]
    SocketPath(PathBuf),
    /// Nobody answers at the address.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The address of the target.
        address: String,
        /// What the system answered.
        source: io::Error,
    },
    /// The server does not let us in.
    #[error("cannot log in to {address}: {source}")]
    Login {
        /// The address of the target.
        address: String,
        /// What went wrong with the login.
        source: LoginError,
    },
    /// The first connections took too long.
    #[error("no session at {address} within {seconds} s")]
    Slow {
        /// The address of the target.
        address: String,
        /// How long was waited, in seconds.
        seconds: u64,
    },
    /// Certificates cannot be used.
    #[error("cannot use TLS with {what}: {source}")]
    Tls {
        /// File or host.
        what: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The request log cannot be written.
    #[error("cannot write {path}: {source}")]
    Log {
        /// The file of the log.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A thread cannot be pinned.
    #[error("cannot run on CPU {cpu}: {source}")]
    Cpu {
        /// Number of the CPU, from 0.
        cpu: usize,
        /// What the system answered.
        source: io::Error,
    },
    /// The operating system refuses something that every run needs.
    #[error("cannot {what}: {source}")]
    System {
        /// What was to be done, as the words behind "cannot".
        what: &'static str,
        /// What the system answered.
        source: io::Error,
    },
}

impl LoadError {
    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Log { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            _ if self.is_disk_full() => {
                "free some space, or leave --request-log out: it takes about 20 bytes a request"
            }
            Self::Log { .. } => {
                "name a file by --request-log whose folder exists and in which you may write, or leave it out"
            }
            Self::Cpu { .. } => {
                "name CPUs by --generator-cpus that this process may use; `taskset -cp $$` lists them"
            }
            _ => return None,
        })
    }
}

/// The address as people write it.
pub(super) fn show(address: &Address) -> String {
    match address {
        Address::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    }
}
