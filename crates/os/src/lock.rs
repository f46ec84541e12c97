//! One process at a time can have the lock on a file. What somebody else holds for a moment only is tried again for half a second.

use super::check;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

/// Whether this descriptor has the lock now; it is given back with [`unlock`] or when the descriptor is closed. Does not
/// wait.
/// Errors: the file system has no locks.
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

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// A process that another thread is just starting holds every descriptor of ours, and so a lock that we have let go
/// of, until it becomes the other program: milliseconds, on a busy machine some more.
const TRIES: u32 = 25;

/// Locks a file for us alone; false where somebody else keeps holding it. The kernel lets go of it when the file is
/// closed, however the process ends.
pub fn exclusive(file: &File) -> bool {
    exclusive_with(file, || thread::sleep(PAUSE))
}

fn exclusive_with(file: &File, mut pause: impl FnMut()) -> bool {
    for _ in 1..TRIES {
        if try_exclusive(file) {
            return true;
        }
        pause();
    }
    try_exclusive(file)
}

/// Opens what one opener at a time may have, a block device say: where it is busy, again for half a second, as for a lock.
pub fn open_busy(mut open: impl FnMut() -> io::Result<File>) -> io::Result<File> {
    for _ in 1..TRIES {
        match open() {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
    open()
}

/// A file system without locks says no.
fn try_exclusive(file: &File) -> bool {
    try_lock(file.as_fd()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_busy_for_a_moment_is_opened_and_what_fails_otherwise_is_told_at_once() {
        let mut tries = 0;
        let opened = open_busy(|| {
            tries += 1;
            if tries < 3 { Err(io::Error::from_raw_os_error(libc::EBUSY)) } else { File::open("/dev/null") }
        });
        assert!(opened.is_ok() && tries == 3, "{tries}");
        tries = 0;
        let refused = open_busy(|| {
            tries += 1;
            File::open("/no/such/file")
        });
        assert!(refused.is_err() && tries == 1, "{tries}");
    }

    #[test]
    fn a_lock_that_is_let_go_of_in_a_moment_is_waited_for_and_one_that_is_kept_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (one, other) = (File::create(&path).unwrap(), File::create(&path).unwrap());
        assert!(exclusive(&one));
        let mut pauses = 0;
        assert!(!exclusive_with(&other, || pauses += 1));
        assert_eq!(pauses, TRIES - 1);
        let (mut one, mut pauses) = (Some(one), 0);
        let lets_go_in_the_third = || {
            pauses += 1;
            one = one.take().filter(|_| pauses < 3);
        };
        assert!(exclusive_with(&other, lets_go_in_the_third));
    }
}
