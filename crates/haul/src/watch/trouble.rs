//! What an error means for who goes on with other files.

use crate::HaulError;
use crate::dispatch::DispatchError;
use evenkeel_site::server::TargetError;
use std::io;
use std::path::Path;

/// ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK.
const HELD_UP: [u16; 2] = [1205, 1213];
/// ER_SERVER_SHUTDOWN, ER_NORMAL_SHUTDOWN, ER_CONNECTION_KILLED.
const ENDING: [u16; 3] = [1053, 1077, 1927];

#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Load(#[from] HaulError),
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    #[error("another one goes through a file for table {0}")]
    Turn(String),
}

/// What is to be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Stop,
    /// The server is not there, or something that others may put right is in the way: try again later.
    Away,
    Busy,
    Statement,
    Changed,
    Gone,
    Bad,
    Fatal,
}

impl WatchError {
    /// What it means where this file was worked on.
    pub fn trouble(&self, path: &Path) -> Trouble {
        match self {
            Self::Turn(_) => Trouble::Busy,
            Self::Load(error) => of_load(error, path),
            Self::Dispatch(error) => match error {
                DispatchError::Server(error) => of_server(error),
                DispatchError::Busy(_) => Trouble::Busy,
                DispatchError::NoColumn { .. } | DispatchError::Pattern { .. } => Trouble::Fatal,
                // The records stay where they are until somebody has put that right.
                _ => Trouble::Bad,
            },
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Dispatch(error) => error.hint(),
            Self::Turn(_) => None,
        }
    }
}

fn of_load(error: &HaulError, path: &Path) -> Trouble {
    match error {
        HaulError::Server(error) => of_server(error),
        HaulError::Stopped { .. } => Trouble::Stop,
        HaulError::Changed { .. } => Trouble::Changed,
        HaulError::InUse(_) => Trouble::Busy,
        HaulError::Nothing(_) => Trouble::Gone,
        HaulError::Io { path: other, source, .. } if other == path => match source.kind() {
            io::ErrorKind::NotFound => Trouble::Gone,
            _ => Trouble::Bad,
        },
        // The name of its rejects would be longer than a file system takes: no other file is to wait for that.
        HaulError::Io { source, .. } if source.kind() == io::ErrorKind::InvalidFilename => Trouble::Bad,
        HaulError::Io { .. } => Trouble::Away,
        HaulError::TooMany { .. } | HaulError::File(_) => Trouble::Bad,
        HaulError::Busy(_) => Trouble::Busy,
        _ => Trouble::Fatal,
    }
}

fn of_server(error: &TargetError) -> Trouble {
    match error {
        TargetError::Stopped => Trouble::Stop,
        TargetError::Statement { code, .. } if HELD_UP.contains(code) => Trouble::Busy,
        TargetError::Statement { code, .. } if ENDING.contains(code) => Trouble::Away,
        TargetError::Statement { .. } => Trouble::Statement,
        TargetError::Unreachable { .. }
        | TargetError::Refused { .. }
        | TargetError::Timeout { .. }
        | TargetError::Silent { .. }
        | TargetError::Full { .. }
        | TargetError::Lost { .. } => Trouble::Away,
        _ => Trouble::Fatal,
    }
}
