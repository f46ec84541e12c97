//! What a load thread asks of the kernel for itself.

use evenkeel_sense::cpu::Affinity;
use std::io;
use std::mem;

/// Runs the calling thread on one CPU only.
pub(super) fn pin(cpu: usize) -> io::Result<()> {
    Affinity::of(&u32::try_from(cpu).into_iter().collect()).apply()
}

/// Slice asked of the scheduler: the shortest it grants.
const SLICE_NS: u64 = 100_000;

/// What `sched_setattr` takes, in its first published form (48 bytes).
#[repr(C)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks the scheduler for short slices: a thread that wakes for an arrival then goes before others that
/// compute, and gets no more of the CPU for it. Linux takes the wish since 6.12 and needs no privilege;
/// before, arrivals on a busy CPU are late by up to a slice of the others, and the dispatch lag shows it.
pub(super) fn wake_promptly() {
    // SAFETY: system calls without pointers; zero names the calling thread. A nice value of -1 may also mean
    // an error, which does not matter, because then nothing below works either.
    let (policy, nice) = unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) };
    // Whoever chose another policy chose it for this.
    if policy != libc::SCHED_OTHER {
        return;
    }
    let attributes = SchedulingAttributes {
        size: mem::size_of::<SchedulingAttributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        runtime: SLICE_NS,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the attributes live through the call and tell their size.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0_u32) };
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
