//! What goes wrong while data is carried.

use crate::layout::LayoutFileError;
use evenkeel_site::sandbox::SandboxError;
use evenkeel_site::server::TargetError;
use std::io;
use std::path::{Path, PathBuf};

/// Something that is refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    pub what: String,
    pub hint: &'static str,
}

pub(crate) fn refused(what: impl Into<String>, hint: &'static str) -> Refused {
    Refused { what: what.into(), hint }
}

/// What ends a conversion. Records that do not fit are no error.
#[derive(Debug, thiserror::Error)]
pub enum HaulError {
    /// A file or folder that could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// A layout file that cannot be.
    #[error(transparent)]
    Layout(#[from] LayoutFileError),
    /// What is asked for cannot be.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// What is asked for cannot be with this file, and may be with others.
    #[error(transparent)]
    File(Refused),
    /// A file of which too much would be refused.
    #[error(transparent)]
    Rejects(Refused),
    #[error("another load into {0} is under way")]
    Busy(String),
    /// What the server said.
    #[error(transparent)]
    Server(#[from] TargetError),
    /// A private server that is not as it should be.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// Nothing to read where something was named.
    #[error("no file matches {0}")]
    Nothing(String),
    /// A pattern of names that is none.
    #[error("pattern {pattern:?}: {reason}")]
    Pattern { pattern: String, reason: &'static str },
    /// An input that is not what it was when the work on it began.
    #[error("{} changed while it was read, at byte {at}: {what}", path.display())]
    Changed { path: PathBuf, at: u64, what: &'static str },
    /// A file in the place of an output that no conversion is known to have written.
    #[error("{} is there already, and no conversion is known to have written it; nothing was changed", .0.display())]
    Foreign(PathBuf),
    /// More than the search for records that come twice can hold.
    #[error("more than {most} {what} in one run")]
    TooMany { what: &'static str, most: u64 },
    /// Somebody else works on this output now.
    #[error("{} is being written by another process", .0.display())]
    InUse(PathBuf),
    /// Somebody asked to stop a drill, of which nothing is kept.
    #[error("stopped: the servers of the drill are removed")]
    Interrupted,
    /// Somebody asked to stop; what was done is kept, and a rerun goes on.
    #[error("stopped at byte {at} of {}", path.display())]
    Stopped { path: PathBuf, at: u64 },
}

impl HaulError {
    /// For `map_err`: what was tried, and with which file.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Refused(refused) | Self::File(refused) | Self::Rejects(refused) => Some(refused.hint),
            Self::Busy(_) => Some("wait until it is done; SHOW PROCESSLIST names the connections"),
            Self::Server(error) => error.hint(),
            Self::Pattern { .. } => Some("as '*.cdr*', in quotes"),
            Self::Foreign(_) => Some("take another folder, or move that file away"),
            Self::TooMany { .. } => Some(
                "name fewer files in one run, or use --duplicates keep: the table's primary key then refuses a record that comes twice",
            ),
            _ => None,
        }
    }

    /// Whether somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Stopped { .. }
                | Self::Interrupted
                | Self::Server(TargetError::Stopped)
                | Self::Sandbox(SandboxError::Stopped { .. })
        )
    }
}
