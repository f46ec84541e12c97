//! What the kernel says of this process and its threads.

use evenkeel_core::Nanos;
use evenkeel_core::control::Signals;
use std::fs::File;
use std::io::Read as _;

/// The thread that calls this, by a number that no other living thread has.
pub fn this_pthread() -> usize {
    // SAFETY: it only answers.
    unsafe { libc::pthread_self() as usize }
}

/// The same by the kernel's number.
pub fn this_task() -> u32 {
    // SAFETY: it only answers.
    unsafe { libc::gettid() as u32 }
}

/// Whether a thread of this process runs, waits for a CPU or for a disk: everything but sleep, in which it waits for a lock, for the
/// network or for time to pass.
pub fn uses_server(task: u32) -> bool {
    let mut text = [0; 512];
    let read = File::open(format!("/proc/self/task/{task}/stat")).and_then(|mut file| file.read(&mut text));
    let text = &text[..read.unwrap_or(0)];
    // Behind the name, which may have any letters in it.
    let state = text.iter().rposition(|byte| *byte == b')').and_then(|end| text.get(end + 2));
    state.is_none_or(|state| *state != b'S')
}

/// CPU time that the server has used.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    user_s: f64,
    system_s: f64,
}

impl Cpu {
    pub fn now() -> Self {
        // SAFETY: the kernel fills the structure, of which any bits are a value.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut used);
            used
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self { user_s: seconds(used.ru_utime), system_s: seconds(used.ru_stime) }
    }

    /// Signals since the last call, so long ago.
    pub fn signals(&mut self, cpus: usize, length: Nanos, completions: u64) -> Signals {
        let before = std::mem::replace(self, Self::now());
        let (user, system) = (self.user_s - before.user_s, self.system_s - before.system_s);
        let seconds = length.as_secs_f64();
        let per_commit = |amount: f64| (completions > 0).then(|| amount / completions as f64);
        Signals {
            cpu_per_commit: per_commit(user + system),
            user_cpu_share: (seconds > 0.0).then(|| (user / seconds / cpus as f64).clamp(0.0, 1.0)),
            ..Signals::default()
        }
    }
}
