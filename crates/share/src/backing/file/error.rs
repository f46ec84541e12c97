//! Why a file cannot be a backing.

use std::io;
use std::path::PathBuf;

/// Why a file or block device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("no such file: {0}")]
    Missing(PathBuf),
    #[error("neither a file nor a block device: {0}")]
    NotAFile(PathBuf),
    #[error("in use: {0}")]
    InUse(PathBuf),
    #[error("not writable: {0}")]
    ReadOnly(PathBuf),
    #[error("too small for a disk: {path} has {bytes} bytes, a block {block}")]
    TooSmall { path: PathBuf, bytes: u64, block: u64 },
    #[error("no direct I/O on {0}")]
    NoDirect(PathBuf),
    #[error("no io_uring: {0}")]
    NoUring(io::Error),
    #[error("cannot open {path}: {error}")]
    Open { path: PathBuf, error: io::Error },
}

impl FileError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing(_) => "a size (`size` of the disk, or --size SIZE) creates a missing file",
            Self::InUse(_) => "one process at a time: end the other one, or unmount the device",
            Self::ReadOnly(_) => "`read_only = true` of the disk opens it without writing",
            Self::NoDirect(_) => "leave out direct I/O (`direct`)",
            Self::NoUring(_) => "without io_uring, threads do the I/O",
            Self::NotAFile(_) | Self::TooSmall { .. } | Self::Open { .. } => return None,
        })
    }
}
