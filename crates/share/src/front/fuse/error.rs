//! Why a disk cannot be shown as a file.

use std::io;
use std::path::PathBuf;

/// Why a file system is not mounted, or not taken down.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    /// There is no such folder.
    #[error("no such folder: {0}")]
    Missing(PathBuf),
    /// It is something else.
    #[error("not a folder: {0}")]
    NotAFolder(PathBuf),
    /// Files in it would be hidden.
    #[error("folder not empty: {0}")]
    NotEmpty(PathBuf),
    /// Something is mounted there.
    #[error("already a mount point: {0}")]
    InUse(PathBuf),
    /// What is mounted there has lost its process.
    #[error("stale mount point, its process has ended: {0}")]
    Dead(PathBuf),
    /// The name cannot be that of a file.
    #[error("not a valid file name: {0:?}")]
    Name(String),
    /// The kernel has no FUSE, or this container may not see it.
    #[error("FUSE is not available: /dev/fuse: {0}")]
    NoFuse(io::Error),
    /// Neither this process nor fusermount3 may mount.
    #[error("not permitted to mount at {path}: {error}")]
    NotPermitted {
        /// The folder or file.
        path: PathBuf,
        /// What was tried said this.
        error: io::Error,
    },
    /// The system has another error.
    #[error("cannot mount at {path}: {error}")]
    Mount {
        /// The folder or file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Somebody has the file open.
    #[error("in use: {0}")]
    Busy(PathBuf),
    /// It could not be taken down.
    #[error("cannot unmount {path}: {error}")]
    Unmount {
        /// The folder or file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl FuseError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing(_) => "create the folder first",
            Self::NotAFolder(_) | Self::NotEmpty(_) => "choose an empty folder",
            Self::InUse(_) | Self::Dead(_) => "umount it first, or choose another folder",
            Self::Name(_) => "a name has no slash and does not begin with a dot",
            Self::NoFuse(_) => "load the kernel module fuse; a container needs /dev/fuse",
            Self::NotPermitted { .. } => {
                "run it as root, or install fuse3, whose fusermount3 mounts for users"
            }
            Self::Busy(_) => "close what has the file open",
            Self::Mount { .. } | Self::Unmount { .. } => return None,
        })
    }
}
