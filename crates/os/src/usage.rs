//! The kernel accounts CPU time, context switches and memory to processes and threads, in units of its own, and counts events of the
//! processor (`perf_event_open`).

use evenkeel_core::Nanos;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

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

/// The first published version of the kernel's `perf_event_attr`, which every kernel still takes.
#[derive(Default)]
#[repr(C)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`: a reading is three words.
const READ_FORMAT: u64 = 1 | 2;
/// `PERF_FLAG_FD_CLOEXEC`: a server that we start must not inherit the counter.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Opens a counter of everything that runs on one CPU (process -1, no group). It counts at once.
pub fn open_event(kind: u32, config: u64, cpu: u32) -> io::Result<File> {
    let attributes = EventAttributes {
        kind,
        size: size_of::<EventAttributes>() as u32,
        config,
        read_format: READ_FORMAT,
        ..EventAttributes::default()
    };
    let cpu = libc::c_int::try_from(cpu).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the kernel reads `size` bytes of the attributes, which live until the call returns, and
    // takes the four numbers as int, int, int and unsigned long.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            -1 as libc::pid_t,
            cpu,
            -1 as libc::c_int,
            CLOSE_ON_EXEC,
        )
    };
    let file =
        libc::c_int::try_from(file).ok().filter(|&file| file >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(file) }))
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
