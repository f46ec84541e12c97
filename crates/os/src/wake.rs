//! A thread that waits for its sockets can be woken by any other one.

use super::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An event counter; edge-triggered in a poller it need not be read.
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// One that nobody has woken yet.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a system call without pointers; the descriptor it gives is owned by nobody else.
        let fd =
            unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?) };
        Ok(Self(fd))
    }

    /// Makes the poller return, now or at its next wait.
    pub fn wake(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the pointer and the length are those of the array. The counter is read by nobody; when it is
        // full the wake-up before it is still to come.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

impl AsRawFd for Wake {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
