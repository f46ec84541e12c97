//! Other processes can be signalled, seen to have ended, found by a socket, and told what to do before they become another program.
//! The command line of this one, which others see, can be changed.

use super::check;
use crate::cpu::Affinity;
use std::fs::{self, File};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

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

/// A child that is killed and waited for when this is dropped; one that has ended needs neither.
#[derive(Debug)]
pub struct Owned(pub Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
/// Errors: `NotFound` where that process is not shown to us (it is in a namespace of its own), or what the system says.
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

/// What a child does between fork and exec; an error of any step is one of starting it.
#[derive(Debug, Default)]
pub struct Birth {
    /// It begins a session of its own, which no terminal belongs to.
    pub session: bool,
    /// The kernel kills it when the thread that started it ends.
    pub dies_with_us: bool,
    /// Opened `cgroup.procs` of the control groups that it joins.
    pub groups: Vec<File>,
    /// The network namespace that it is in; `None` for that of its parent.
    pub network: Option<File>,
    /// The CPUs that it stays on; `None` for those of its parent.
    pub affinity: Option<Affinity>,
}

impl Birth {
    /// Has what the command starts do so.
    pub fn of(self, command: &mut Command) {
        let parent = std::process::id() as i32;
        // SAFETY: the closure runs between fork and exec and only makes system calls on values prepared before; it
        // neither allocates nor takes locks.
        unsafe {
            command.pre_exec(move || self.happen(parent));
        }
    }

    /// In the child, where nothing may be allocated and no lock taken.
    fn happen(&self, parent: i32) -> io::Result<()> {
        if self.session {
            // SAFETY: system calls of numbers alone.
            unsafe {
                check(libc::setsid())?;
                // A server that stays up must not hold what our caller left open: the lock of `flock FILE evenkeel ...`, say. An old
                // kernel without the call leaves them.
                libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
            }
        }
        if self.dies_with_us {
            // SAFETY: system calls of numbers alone.
            let parent_now = unsafe {
                check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
                libc::getppid()
            };
            // The parent may have died before the signal was set.
            if parent_now != parent {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        for group in &self.groups {
            // SAFETY: the pointer leads to one byte that lives for ever.
            check(unsafe { libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) } as libc::c_int)?;
        }
        self.network.as_ref().map_or(Ok(()), enter_network)?;
        self.affinity.as_ref().map_or(Ok(()), Affinity::apply)
    }
}

/// This thread alone is in that network namespace from now on, and so are the processes that it starts. It wants CAP_SYS_ADMIN.
pub fn enter_network(namespace: &File) -> io::Result<()> {
    // SAFETY: a system call on a descriptor that is open for the duration of the call.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Has a command run in a group of its own, as Ctrl-C in the terminal is for us, who end it in order; and end with the
/// thread that starts it at the latest.
pub fn alone(command: &mut Command) {
    command.process_group(0);
    Birth { dies_with_us: true, ..Birth::default() }.of(command);
}

/// Changes the arguments of this process where everybody can read them; they follow each other, each with a zero byte at its end,
/// and stay as long as they are. What std has told of them before is a copy.
///
/// Call it before there is another thread: where there is one, or where the system does not say where the arguments are, nothing is
/// changed.
pub fn change_arguments(change: impl FnOnce(&mut [u8])) {
    if !is_alone() {
        return;
    }
    let Some((start, length)) = place() else { return };
    // SAFETY: the kernel says that the arguments of this process stand there. It has one thread, which holds no reference
    // into them: what was read is a copy. They are never freed.
    change(unsafe { std::slice::from_raw_parts_mut(start as *mut u8, length) });
}

fn is_alone() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// Where the arguments begin, and how many bytes they are: fields 48 and 49 of proc(5), stat.
fn place() -> Option<(usize, usize)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, is field 2 and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
    let start: usize = fields.next()?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start > 0 && end > start).then_some((start, end - start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

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

    #[test]
    fn beside_other_threads_nothing_is_changed() {
        std::thread::scope(|scope| {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || ended.recv());
            change_arguments(|_| panic!("another thread may read them"));
            drop(end);
        });
    }
}
