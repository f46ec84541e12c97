//! Why a disk cannot be shown as a file.

use std::io;
use std::path::PathBuf;

/// Why a file system is not mounted, or not taken down.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    #[error("no such folder: {0}")]
    Missing(PathBuf),
    #[error("not a folder: {0}")]
    NotAFolder(PathBuf),
    #[error("folder not empty: {0}")]
    NotEmpty(PathBuf),
    #[error("already a mount point: {0}")]
    InUse(PathBuf),
    #[error("stale mount point, its process has ended: {0}")]
    Dead(PathBuf),
    #[error("not a valid file name: {0:?}")]
    Name(String),
    #[error("FUSE is not available: /dev/fuse: {0}")]
    NoFuse(io::Error),
    #[error("not permitted to mount at {path}: {error}")]
    NotPermitted { path: PathBuf, error: io::Error },
    #[error("cannot mount at {path}: {error}")]
    Mount { path: PathBuf, error: io::Error },
    #[error("in use: {0}")]
    Busy(PathBuf),
    #[error("cannot unmount {path}: {error}")]
    Unmount { path: PathBuf, error: io::Error },
}

impl FuseError {
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
