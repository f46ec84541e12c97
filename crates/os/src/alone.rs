//! A command in a group of its own that does not outlive who starts it.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has a command run in a group of its own, as Ctrl-C in the terminal is for us, who end it in order; and end with the
/// thread that starts it at the latest.
pub fn alone(command: &mut Command) {
    command.process_group(0);
    let parent = std::process::id() as i32;
    // SAFETY: the closure runs between fork and exec and only makes system calls on values prepared before; it
    // neither allocates nor takes locks.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            // The parent may have died before the signal was set.
            if libc::getppid() != parent {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
    }
}
