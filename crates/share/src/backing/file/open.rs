//! From a path to a file that nobody else uses, its size and its blocks.

use crate::{ALIGNMENT, Errno, Work};
use evenkeel_os::file;
use evenkeel_os::file::DirectLimits;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Sizes are a multiple of this, as of any disk.
const SECTOR: u64 = 512;

#[derive(Debug)]
pub(in crate::backing) struct Opened {
    pub file: File,
    pub is_device: bool,
    pub read_only: bool,
    /// Whole blocks; what is left over at the end of the file is not used.
    pub bytes: u64,
    /// Every offset and length of the file's own I/O is a multiple of this: 1 where the kernel's cache is used.
    pub block: u64,
    /// The first error after which what was written may be gone, or 0.
    lost: AtomicI32,
    /// Where the file was seen to end; what was behind is gone, also if the file has grown again.
    end: AtomicU64,
}

impl AsRawFd for Opened {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        file::unlock(&self.file);
    }
}

impl Opened {
    pub fn open(path: &Path, direct: bool, read_only: bool) -> Result<Self, FileError> {
        let failed = |error| reason(path, read_only, error);
        let found = std::fs::metadata(path).map_err(failed)?;
        let is_device = found.file_type().is_block_device();
        if !found.is_file() && !is_device {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        let file = evenkeel_os::open_busy(|| open(path, direct, read_only, is_device)).map_err(failed)?;
        // Between the look and the opening another file may have come to that place.
        let same = file.metadata().map_err(failed)?;
        if same.file_type() != found.file_type() {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        file::lock(&file, !read_only).map_err(failed)?;
        let block = if direct { direct_block(&file, is_device, path)? } else { 1 };
        let whole = size(&file, &same, is_device).map_err(failed)?;
        let least = block.max(SECTOR);
        let bytes = whole / least * least;
        if bytes == 0 {
            return Err(FileError::TooSmall { path: path.to_owned(), bytes: whole, block: least });
        }
        Ok(Self {
            file,
            is_device,
            read_only,
            bytes,
            block,
            lost: AtomicI32::new(0),
            end: AtomicU64::new(u64::MAX),
        })
    }

    /// What was written and answered may be gone: a sync failed, and no later one can bring it back.
    pub fn lose(&self, errno: Errno) {
        // Whoever was first stays.
        let _ = self.lost.compare_exchange(0, errno.0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Looks whether the file became shorter. What it lost then stays an error: it reads as zeroes once a write behind its
    /// new end, or whoever cut it, has made it long again.
    pub fn look(&self) {
        if let Some(end) = self.shorter() {
            self.end.fetch_min(end, Ordering::SeqCst);
            self.lose(Errno::IO);
        }
    }

    /// As [`Opened::look`], after changes. Where the file was still whole before them, nobody knows what was cut off before
    /// they made it longer again: all of it is an error.
    pub fn look_after(&self) {
        if self.shorter().is_some() {
            let _ = self.end.compare_exchange(u64::MAX, 0, Ordering::SeqCst, Ordering::SeqCst);
            self.lose(Errno::IO);
        }
    }

    /// The size of a file that is too short. A device keeps its size, or says itself what it has lost.
    fn shorter(&self) -> Option<u64> {
        if self.is_device {
            return None;
        }
        let found = self.file.metadata().ok()?.len();
        (found < self.bytes).then_some(found)
    }

    /// Whether the file still has all that a work is about.
    pub fn has(&self, work: &Work) -> Result<(), Errno> {
        self.reaches(work.range().map_or(self.bytes, |(offset, bytes)| offset + bytes))
    }

    /// Whether the file still has all before an offset.
    pub fn reaches(&self, offset: u64) -> Result<(), Errno> {
        if offset > self.end.load(Ordering::SeqCst) { Err(Errno::IO) } else { Ok(()) }
    }

    pub fn lost(&self) -> Option<Errno> {
        let errno = self.lost.load(Ordering::SeqCst);
        (errno != 0).then_some(Errno(errno))
    }
}

fn open(path: &Path, direct: bool, read_only: bool, is_device: bool) -> io::Result<File> {
    // For a device, exclusive is "not while it is mounted or somebody else has it so".
    let exclusive = if is_device { libc::O_EXCL } else { 0 };
    let uncached = if direct { libc::O_DIRECT } else { 0 };
    let flags = exclusive | uncached | libc::O_CLOEXEC;
    OpenOptions::new().read(true).write(!read_only).custom_flags(flags).open(path)
}

fn size(file: &File, found: &Metadata, is_device: bool) -> io::Result<u64> {
    let mut file = file;
    if is_device { file.seek(SeekFrom::End(0)) } else { Ok(found.len()) }
}

/// The block of direct I/O; where nobody says, one that any disk takes.
fn direct_block(file: &File, is_device: bool, path: &Path) -> Result<u64, FileError> {
    let largest = ALIGNMENT as u64;
    let sector = || if is_device { file::sector(file).ok() } else { None };
    let unknown = || DirectLimits { memory: largest, offset: sector().unwrap_or(largest) };
    let limits = file::direct_limits(file).unwrap_or_else(unknown);
    // Buffers are at multiples of ALIGNMENT and no more.
    let fits = |bytes: u64| bytes.is_power_of_two() && bytes <= largest;
    if !fits(limits.memory) || !fits(limits.offset) {
        return Err(FileError::NoDirect(path.to_owned()));
    }
    Ok(limits.offset)
}

fn reason(path: &Path, read_only: bool, error: io::Error) -> FileError {
    let path = path.to_owned();
    match error.raw_os_error() {
        Some(libc::ENOENT) => FileError::Missing(path),
        Some(libc::EBUSY | libc::ETXTBSY | libc::EWOULDBLOCK) => FileError::InUse(path),
        Some(libc::EROFS | libc::EACCES | libc::EPERM) if !read_only => FileError::ReadOnly(path),
        // The kernel says no more about a file system without it.
        Some(libc::EINVAL) => FileError::NoDirect(path),
        _ if error.kind() == io::ErrorKind::WouldBlock => FileError::InUse(path),
        _ => FileError::Open { path, error },
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_said_in_words_of_disks() {
        let said = |errno, read_only| {
            reason(Path::new("/a"), read_only, io::Error::from_raw_os_error(errno)).to_string()
        };
        assert_eq!(said(libc::EBUSY, false), "in use: /a");
        assert_eq!(said(libc::EROFS, false), "not writable: /a");
        assert!(said(libc::EACCES, true).starts_with("cannot open /a: "));
        assert_eq!(said(libc::EINVAL, false), "no direct I/O on /a");
    }
}
