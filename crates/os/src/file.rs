//! Files, block devices and file systems can do more than std has words for: holes, space, locks, direct I/O, memory that processes share.

use super::check;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

/// Discards a range of a block device.
const BLKDISCARD: libc::Ioctl = libc::_IO(0x12, 119);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectLimits {
    /// Memory begins at a multiple of this.
    pub memory: u64,
    /// Offsets and lengths are multiples of this; zero where there is no direct I/O.
    pub offset: u64,
}

/// How space of a file is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Given back; reads as zero.
    Punch,
    /// Kept or taken; reads as zero.
    Zero,
    /// Taken where there is none.
    Allocate,
}

/// Renames a file to a name that nothing has. `AlreadyExists` where something does.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (name(from)?, name(to)?);
    // SAFETY: both are strings of C that live through the call.
    let renamed = unsafe {
        libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::RENAME_NOREPLACE)
    };
    check(renamed).map(|_| ())
}

/// Locks the whole file for this opening of it until it is closed: for one, or for many readers. `WouldBlock` where
/// somebody else has it.
pub fn lock(file: &File, exclusive: bool) -> io::Result<()> {
    match set_lock(file, if exclusive { libc::F_WRLCK } else { libc::F_RDLCK }) {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => Err(io::ErrorKind::WouldBlock.into()),
        result => result,
    }
}

/// Gives the lock back though a child that is being started may still have the file open.
pub fn unlock(file: &File) {
    // A lock that cannot be given back goes when the file is closed.
    let _ = set_lock(file, libc::F_UNLCK);
}

fn set_lock(file: &File, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: all zeroes are a valid flock: from the start, to the end, of no process.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the lock lives through the call.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }).map(|_| ())
}

/// Whether another process holds a write lock (`fcntl`) on any part of the file.
pub fn is_locked(file: &File) -> bool {
    // SAFETY: all zeroes are a valid flock: the whole file, from its start.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    // SAFETY: the descriptor is open, and F_GETLK fills in the lock that the pointer leads to.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short
}

/// What direct I/O asks for; `None` where the kernel does not say.
pub fn direct_limits(file: &File) -> Option<DirectLimits> {
    // SAFETY: all zeroes are a valid statx.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let (path, mask) = (c"".as_ptr(), libc::STATX_DIOALIGN);
    // SAFETY: the path is a string of C, and what is found is a variable of this function.
    let result = unsafe { libc::statx(file.as_raw_fd(), path, libc::AT_EMPTY_PATH, mask, &raw mut found) };
    let limits = DirectLimits {
        memory: u64::from(found.stx_dio_mem_align),
        offset: u64::from(found.stx_dio_offset_align),
    };
    (result == 0 && found.stx_mask & mask != 0).then_some(limits)
}

/// Bytes in a sector of a block device.
pub fn sector(device: &File) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the device writes one number of this type.
    check(unsafe { libc::ioctl(device.as_raw_fd(), libc::BLKSSZGET, &raw mut bytes) })?;
    Ok(bytes.unsigned_abs().into())
}

/// Tells a block device that a range is needed no more.
pub fn discard(device: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let range = [offset, bytes];
    // SAFETY: the device reads two numbers of this type.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) }).map(|_| ())
}

/// Changes the space of a range, never the size.
pub fn allocate(file: &File, space: Space, offset: u64, bytes: u64) -> io::Result<()> {
    let mode = match space {
        Space::Punch => libc::FALLOC_FL_PUNCH_HOLE,
        Space::Zero => libc::FALLOC_FL_ZERO_RANGE,
        Space::Allocate => 0,
    };
    let mode = mode | libc::FALLOC_FL_KEEP_SIZE;
    let (offset, bytes) = (whence(offset)?, whence(bytes)?);
    loop {
        // SAFETY: a system call without pointers.
        match check(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, bytes) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(|_| ()),
        }
    }
}

/// Has the disk begin to write a range of what lies in the kernel's cache. Nothing is durable by it; it may wait for a busy disk.
pub fn begin_write_out(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let (offset, bytes) = (whence(offset)?, whence(bytes)?);
    // SAFETY: a system call without pointers.
    let begun =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE) };
    check(begun).map(|_| ())
}

/// Writes what it can, and that is on the disk afterwards.
pub fn write_durably(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let offset = whence(offset)?;
    // SAFETY: the part is a slice that lives through the call, and is only read.
    let written = unsafe { libc::pwritev2(file.as_raw_fd(), &raw const part, 1, offset, libc::RWF_DSYNC) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

/// Reads what the kernel's cache holds of a range, from its beginning on; `WouldBlock` where that is nothing, and the kernel
/// begins to fetch it. It waits for no disk as long as the file is not open for direct I/O.
pub fn read_cached(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let offset = whence(offset)?;
    // SAFETY: the part is a mutable slice that lives through the call.
    let read = unsafe { libc::preadv2(file.as_raw_fd(), &raw const part, 1, offset, libc::RWF_NOWAIT) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

fn whence(place: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(place).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn name(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Bytes that this user can still write to the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = name(path)?;
    // SAFETY: statvfs is plain numbers, for which zero is a value; the path ends in a zero byte.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(path.as_ptr(), &mut found) {
            0 => Ok(found.f_bavail.saturating_mul(found.f_frsize)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Whether a folder is one of control groups, and not what was mounted over them: there files can be written as well, and limit
/// nothing.
pub fn is_control_groups(path: &Path) -> bool {
    let Ok(path) = name(path) else { return false };
    // SAFETY: statfs is plain numbers, for which zero is a value; the path ends in a zero byte.
    let kind = unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        (libc::statfs(path.as_ptr(), &raw mut found) == 0).then_some(found.f_type)
    };
    kind == Some(libc::CGROUP_SUPER_MAGIC) || kind == Some(libc::CGROUP2_SUPER_MAGIC)
}

/// Takes a file system down; one that is in use only when the last user has gone (`lazy`), not shown any more from now.
pub fn unmount(at: &Path, lazy: bool) -> io::Result<()> {
    let path = name(at)?;
    let flags = libc::UMOUNT_NOFOLLOW | if lazy { libc::MNT_DETACH } else { 0 };
    // SAFETY: the path is a string of C that lives through the call.
    check(unsafe { libc::umount2(path.as_ptr(), flags) }).map(|_| ())
}

#[derive(Debug)]
pub struct SharedWords {
    at: NonNull<AtomicU64>,
    words: usize,
    file: File,
}

// SAFETY: the memory is only reached through atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Of a file that may be read and written and is at least so many words of eight bytes long. Where it becomes shorter
    /// ([`SharedWords::are_whole`]) no word may be touched any more: that is SIGBUS, which ends the process.
    pub fn map(file: File, words: usize) -> io::Result<Self> {
        let bytes = words * size_of::<AtomicU64>();
        if words == 0 || file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is too short"));
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a mapping at an address that the kernel chooses, of a descriptor that is open; it is unmapped by Drop alone.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        match NonNull::new(at.cast::<AtomicU64>()) {
            Some(words_at) if at != libc::MAP_FAILED => Ok(Self { at: words_at, words, file }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether the file still has them all.
    pub fn are_whole(&self) -> bool {
        let bytes = (self.words * size_of::<AtomicU64>()) as u64;
        self.file.metadata().is_ok_and(|found| found.len() >= bytes)
    }

    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is that long, page-aligned, and lives as long as self; any bytes are a valid AtomicU64.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mapping, and nobody has a reference any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}
