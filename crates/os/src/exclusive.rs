//! Locks between processes.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

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

fn try_exclusive(file: &File) -> bool {
    // SAFETY: flock on a descriptor that is open while it is borrowed; it touches no memory.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
