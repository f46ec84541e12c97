//! A new process can be told what to do before it becomes the program that it is started for.

use super::check;
use crate::cpu::Affinity;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What a child does between fork and exec; an error of any step is one of starting it.
#[derive(Debug, Default)]
pub struct Birth {
    /// It begins a session of its own, which no terminal belongs to.
    pub session: bool,
    /// The kernel kills it when the thread that started it ends.
    pub dies_with_us: bool,
    /// Opened `cgroup.procs` of the control groups that it joins.
    pub groups: Vec<File>,
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
            // SAFETY: a system call without arguments.
            check(unsafe { libc::setsid() })?;
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
        self.affinity.as_ref().map_or(Ok(()), Affinity::apply)
    }
}

/// Has a command run in a group of its own, as Ctrl-C in the terminal is for us, who end it in order; and end with the
/// thread that starts it at the latest.
pub fn alone(command: &mut Command) {
    command.process_group(0);
    Birth { dies_with_us: true, ..Birth::default() }.of(command);
}
