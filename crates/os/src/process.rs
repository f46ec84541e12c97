//! Other processes can be signalled, seen to have ended, and found by a socket.

use super::check;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Sends a signal to the process of this number, whichever that is; false where there is none, or it may not be signalled. Numbers
/// below 1, which mean several processes, are none.
pub fn signal(pid: i32, signal: i32) -> bool {
    // SAFETY: kill takes two numbers.
    pid > 0 && unsafe { libc::kill(pid, signal) == 0 }
}

/// Sends a signal to all processes of a group, which has the number of its leader: to be used while that is a child nobody has waited
/// for, since afterwards the number may be another group's. False where no process got it.
pub fn signal_group(leader: u32, signal: i32) -> bool {
    let group = i32::try_from(leader).ok().filter(|group| *group > 1);
    // SAFETY: kill takes two numbers.
    group.is_some_and(|group| unsafe { libc::kill(-group, signal) == 0 })
}

/// Whether a child of ours has ended, or is no child of ours. It stays to be waited for.
pub fn has_ended(child: u32) -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: the pointer is valid for one siginfo_t, which is all that is written; it was zeroed, and a struct of integers
    // and addresses is valid so.
    unsafe {
        let done = libc::waitid(libc::P_PID, child, info.as_mut_ptr(), flags);
        done != 0 || info.assume_init().si_pid() != 0
    }
}

/// Number of the process that made the socket listen to which this one is connected, as the kernel noted it then.
///
/// # Errors
/// `NotFound` where that process is not shown to us (it is in a namespace of its own), or what the system says.
pub fn peer_process(stream: &UnixStream) -> io::Result<u32> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = mem::size_of_val(&who) as libc::socklen_t;
    let out = (&raw mut who).cast();
    // SAFETY: the descriptor is open for the duration of the call, and `who` is as long as `length` says.
    check(unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, out, &raw mut length)
    })?;
    u32::try_from(who.pid).ok().filter(|pid| *pid > 0).ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, Stdio};

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").stdin(Stdio::null()).process_group(0).spawn().unwrap()
    }

    fn ended_by(mut child: Child) -> Option<i32> {
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap().signal()
    }

    #[test]
    fn a_signal_reaches_a_process_by_number_and_by_group() {
        let child = sleeper();
        assert!(!has_ended(child.id()));
        assert!(signal(child.id() as i32, libc::SIGTERM));
        assert_eq!(ended_by(child), Some(libc::SIGTERM));
        let child = sleeper();
        assert!(signal_group(child.id(), libc::SIGKILL));
        assert_eq!(ended_by(child), Some(libc::SIGKILL));
    }

    #[test]
    fn numbers_that_mean_several_processes_are_none() {
        assert!([0, -1, i32::MIN].iter().all(|pid| !signal(*pid, 0)));
        assert!([0, 1, u32::MAX].iter().all(|leader| !signal_group(*leader, 0)));
        assert!(has_ended(std::process::id()), "it is no child of ours");
    }
}
