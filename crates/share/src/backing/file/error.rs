//! Why a file cannot be a backing.

use std::io;
use std::path::PathBuf;

/// Why a file or block device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("no such file: {0}")]
    Missing(PathBuf),
    /// It is a folder, a pipe or a terminal.
    #[error("neither a file nor a block device: {0}")]
    NotAFile(PathBuf),
    /// Another process, or another disk of this one, has it; or it is mounted.
    #[error("in use: {0}")]
    InUse(PathBuf),
    /// It may be read, and was to be written.
    #[error("not writable: {0}")]
    ReadOnly(PathBuf),
    /// It has no room for a single block.
    #[error("too small for a disk: {path} has {bytes} bytes, a block {block}")]
    TooSmall {
        /// The file or block device.
        path: PathBuf,
        /// Its size in bytes.
        bytes: u64,
        /// The size of a block in bytes.
        block: u64,
    },
    /// Its file system has no direct I/O, or none for buffers as they are here.
    #[error("no direct I/O on {0}")]
    NoDirect(PathBuf),
    /// io_uring was asked for by name.
    #[error("no io_uring: {0}")]
    NoUring(io::Error),
    /// The system has another error.
    #[error("cannot open {path}: {error}")]
    Open {
        /// The file or block device.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl FileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing(_) => "--size SIZE creates a missing file",
            Self::InUse(_) => "one process at a time: end the other one, or unmount the device",
            Self::ReadOnly(_) => "`read_only = true` of the disk opens it without writing",
            Self::NoDirect(_) => "leave out direct I/O (`direct`)",
            Self::NoUring(_) => "without io_uring, threads do the I/O",
            Self::NotAFile(_) | Self::TooSmall { .. } | Self::Open { .. } => return None,
        })
    }
}
