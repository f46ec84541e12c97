//! The kernel accounts CPU time, context switches and memory to processes and threads, in units of its own.

use evenkeel_core::Nanos;
use std::mem::MaybeUninit;

/// The unit in which /proc counts CPU time.
pub fn tick() -> Nanos {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // 100 per second is what every Linux has said for twenty years.
    Nanos(1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1))
}

pub fn page_size() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Usage of the calling thread.
fn usage() -> Option<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, which is all that the kernel writes.
    let done = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: rusage is made of integers, so that the zeroed (and then filled) value is a valid one.
    (done == 0).then(|| unsafe { usage.assume_init() })
}

/// How often this thread has stopped by itself to wait for something; not counted is when others took its CPU.
pub fn waits() -> i64 {
    usage().map_or(0, |usage| usage.ru_nvcsw)
}

/// Context switches of the calling thread so far, voluntary and not.
pub fn context_switches() -> u64 {
    usage().map_or(0, |usage| (usage.ru_nvcsw + usage.ru_nivcsw) as u64)
}

/// CPU time of a process over all its threads, also ended ones; needs no privilege.
pub fn process_cpu(pid: u32) -> Option<Nanos> {
    let mut id: libc::clockid_t = 0;
    // SAFETY: the pointer is valid for one clockid_t, which is all that is written.
    let done = unsafe { libc::clock_getcpuclockid(process_id(pid)?, &mut id) };
    if done != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec, which is all that the kernel writes.
    let done = unsafe { libc::clock_gettime(id, &mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    (done == 0).then(|| Nanos::from_secs(seconds) + Nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
}

/// A process by number. Zero would mean ourselves, and so would, to the clocks, a number too large for
/// the 29 bits that they have for it; Linux gives none above this limit.
pub(super) fn process_id(pid: u32) -> Option<libc::pid_t> {
    const PID_MAX: libc::pid_t = 1 << 22;
    libc::pid_t::try_from(pid).ok().filter(|pid| (1..=PID_MAX).contains(pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn this_process_has_cpu_time_and_a_usage() {
        let (thread, process) = (clock::thread_cpu(), clock::process_cpu());
        let by_number = process_cpu(std::process::id()).expect("own clock");
        assert!(Nanos::ZERO < thread && thread <= process && process <= by_number);
        assert!(usage().expect("own usage").ru_maxrss > 0);
    }
}
