//! A thread asks the scheduler for short slices, so that it wakes promptly.

use std::mem;

/// Slice asked of the scheduler: the shortest it grants.
const SLICE_NS: u64 = 100_000;

/// What `sched_setattr` takes, in its first published form (48 bytes).
#[derive(Default)]
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
pub fn wake_promptly() {
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
        nice,
        runtime: SLICE_NS,
        ..SchedulingAttributes::default()
    };
    // SAFETY: the attributes live through the call and tell their size.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0_u32) };
}
