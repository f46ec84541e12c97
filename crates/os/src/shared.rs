//! Several processes have the numbers of one file in memory at the same time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

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
