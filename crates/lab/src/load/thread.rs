//! What a load thread asks of the kernel for itself.

use super::socket::check;
use std::io;
use std::mem;

/// Runs the calling thread on one CPU only.
pub(super) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: all zeroes are an empty set; the index is below its size; the set lives through the call.
    check(unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, mem::size_of::<libc::cpu_set_t>(), &raw const set)
    })
    .map(|_| ())
}

/// Timers of the calling thread end on time: the kernel may otherwise delay them by 50 us to save wakes.
pub(super) fn wake_on_time() {
    // SAFETY: a system call without pointers. Where it is refused, timers are late and the lag shows it.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// Context switches of the calling thread so far, voluntary and not.
pub(super) fn context_switches() -> u64 {
    // SAFETY: all zeroes are a valid rusage, which lives through the call.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        assert!(pin(1_023).is_err());
        assert!(pin(1 << 20).is_err());
    }
}
