//! A process is known by its number and its start, so that it is not mistaken for another one of the same number.

use evenkeel_os::clock::Clock;
use evenkeel_os::process;
use evenkeel_sense::cpu::ProcessStat;
use evenkeel_sense::far;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A process: its number, and when it started, because numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: i32,
    /// Start in clock ticks since the machine started (field 22 of /proc/PID/stat).
    pub start_time: u64,
}

impl ProcessId {
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, start_time: stat(pid)?.start })
    }

    /// Whether it still runs. One that ended and was not yet waited for does not run.
    pub fn is_alive(&self) -> bool {
        let is_it = |stat: ProcessStat| stat.start == self.start_time && !matches!(stat.state, 'Z' | 'X');
        stat(self.pid).is_some_and(is_it)
    }

    /// Sends a signal to this very process; `false` if it is gone.
    pub fn signal(&self, signal: i32) -> bool {
        self.is_alive() && process::signal(self.pid, signal)
    }

    /// Waits until it is gone; `false` if it is not after `limit`.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        let clock = Clock::start();
        while self.is_alive() {
            if Duration::from(clock.now()) >= limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    /// Asks it to end, and kills it where it has not after `patience`. Also wakes it if it was stopped, or is meanwhile.
    pub fn end(&self, patience: Duration) {
        /// From one look for somebody who stopped it to the next.
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        self.signal(libc::SIGTERM);
        let clock = Clock::start();
        loop {
            self.signal(libc::SIGCONT);
            let left = patience.saturating_sub(clock.now().into());
            if self.wait(left.min(LOOK_EVERY)) {
                return;
            }
            if left.is_zero() {
                break;
            }
        }
        self.signal(libc::SIGKILL);
        self.wait(Duration::from_secs(10));
    }
}

/// A running server that was started with this option file, whoever started it.
pub(super) fn server_with(my_cnf: &Path) -> Option<i32> {
    let option = [b"--defaults-file=", my_cnf.as_os_str().as_bytes()].concat();
    let processes = std::fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        // Behind the name of the program, which may be behind its loader and `--library-path FOLDER`.
        command.split(|byte| *byte == 0).take(5).any(|word| word == option).then_some(pid)
    })
}

fn stat(pid: i32) -> Option<ProcessStat> {
    ProcessStat::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Tells one start of the machine from another: start times count from there.
pub(super) fn boot_id() -> String {
    far::boot_id().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_process_ends_and_is_known_to_be_gone_even_as_a_zombie() {
        for stopped in [false, true] {
            let mut child = sleeper();
            let id = ProcessId::of(child.id() as i32).unwrap();
            assert!(id.is_alive());
            assert!(!stopped || id.signal(libc::SIGSTOP));
            id.end(Duration::from_secs(60));
            assert!(!id.is_alive());
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_reused_number_is_never_signalled() {
        let mut child = sleeper();
        let id = ProcessId::of(child.id() as i32).unwrap();
        let earlier = ProcessId { start_time: id.start_time - 1, ..id };
        assert!(!earlier.is_alive());
        assert!(!earlier.signal(libc::SIGKILL));
        assert!(id.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_stopped_while_it_ends_is_woken_and_ends_in_order() {
        let script = "trap 'sleep 1; exit 7' TERM; while :; do sleep 0.05; done";
        let mut child = Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap();
        let id = ProcessId::of(child.id() as i32).unwrap();
        // The shell has its trap once it has children.
        let children = format!("/proc/{0}/task/{0}/children", id.pid);
        while std::fs::read_to_string(&children).is_ok_and(|pids| pids.is_empty()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let stops = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            id.signal(libc::SIGSTOP)
        });
        id.end(Duration::from_secs(20));
        stops.join().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7), "it was killed");
    }
}
