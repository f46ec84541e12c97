//! Why a run of load could not take place.

use evenkeel_core::arrivals::RateError;
use evenkeel_wire::LoginError;
use std::io;

pub type Result<T, E = LoadError> = std::result::Result<T, E>;

/// Why a run of load could not take place. What goes wrong once it runs is counted in its result instead.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("arrival rate: {0}")]
    Rate(#[from] RateError),
    #[error("plan asks for no {0}")]
    Nothing(&'static str),
    /// A load that was to begin together with this one cannot begin, or somebody asked to stop before.
    #[error("the load on another server, which had to start at the same instant, could not start")]
    CalledOff,
    #[error("cannot {what}: {source}")]
    Cannot { what: String, source: io::Error, hint: Option<&'static str> },
    #[error("cannot log in to {address}: {source}")]
    Login { address: String, source: LoginError },
    #[error("no session at {address} within {seconds} s")]
    Slow { address: String, seconds: u64 },
}

impl LoadError {
    pub(super) fn cannot(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        Self::cannot_but(what, None)
    }

    pub(super) fn cannot_but(
        what: impl Into<String>,
        hint: Option<&'static str>,
    ) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Cannot { what, source, hint }
    }

    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Cannot { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            _ if self.is_disk_full() => {
                Some("free some space, or leave --request-log out: it takes about 20 bytes a request")
            }
            Self::Cannot { hint, .. } => *hint,
            _ => None,
        }
    }
}
