//! One process at a time can have the lock on a file.

use super::check;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether this descriptor has the lock now; it is given back with [`unlock`] or when the descriptor is closed. Does not
/// wait.
///
/// # Errors
/// The file system has no locks.
pub fn try_lock(file: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: a system call on a descriptor that is open for as long as it is borrowed.
    match check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives the lock back.
pub fn unlock(file: BorrowedFd<'_>) {
    // SAFETY: as above. It cannot fail on a descriptor that is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}
