//! The system calls that std has no words for. The only unsafe code of this crate.
#![allow(unsafe_code)]

use crate::cpu::{CPUS_MAX, CpuSet};
use evenkeel_core::Nanos;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// The unit in which /proc counts CPU time.
pub(crate) fn tick() -> Nanos {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // 100 per second is what every Linux has said for twenty years.
    Nanos(1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1))
}

/// Bytes in a page.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Whether this process runs with the rights of root.
pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid always succeeds and touches no memory of ours.
    unsafe { libc::geteuid() == 0 }
}

/// Whom a resource usage is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    /// All threads of this process, also ended ones.
    Process,
    /// The calling thread.
    Thread,
}

/// The kernel's account of this process or thread.
pub(crate) fn usage(whose: Whose) -> Option<libc::rusage> {
    let who = match whose {
        Whose::Process => libc::RUSAGE_SELF,
        Whose::Thread => libc::RUSAGE_THREAD,
    };
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, which is all that the kernel writes.
    let done = unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    // SAFETY: rusage is made of integers, so that the zeroed (and then filled) value is a valid one.
    (done == 0).then(|| unsafe { usage.assume_init() })
}

/// CPU time of this process or thread until this very instant; its usage is brought up to date only at
/// the scheduler's ticks.
pub(crate) fn own_cpu(whose: Whose) -> Option<Nanos> {
    clock(match whose {
        Whose::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
        Whose::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
    })
}

/// CPU time of a process over all its threads, also ended ones; needs no privilege.
pub(crate) fn process_cpu(pid: u32) -> Option<Nanos> {
    let mut id: libc::clockid_t = 0;
    // SAFETY: the pointer is valid for one clockid_t, which is all that is written.
    let done = unsafe { libc::clock_getcpuclockid(process_id(pid)?, &mut id) };
    if done == 0 { clock(id) } else { None }
}

fn clock(id: libc::clockid_t) -> Option<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec, which is all that the kernel writes.
    let done = unsafe { libc::clock_gettime(id, &mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    (done == 0).then(|| Nanos::from_secs(seconds) + Nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
}

/// A process by number. Zero would mean ourselves, and so would, to the clocks, a number too large for
/// the 29 bits that they have for it; Linux gives none above this limit.
fn process_id(pid: u32) -> Option<libc::pid_t> {
    const PID_MAX: libc::pid_t = 1 << 22;
    libc::pid_t::try_from(pid).ok().filter(|pid| (1..=PID_MAX).contains(pid))
}

type Mask = [u64; CPUS_MAX as usize / 64];

/// The CPUs that a process (its first thread) may run on: online, in its cpuset and in its mask.
pub(crate) fn affinity(pid: u32) -> Option<CpuSet> {
    let pid = process_id(pid)?;
    let mut mask: Mask = [0; CPUS_MAX as usize / 64];
    // SAFETY: the kernel writes at most size_of(mask) bytes, in whole words of bits; the mask is larger
    // than libc's cpu_set_t because that ends at 1024 CPUs.
    let done = unsafe { libc::sched_getaffinity(pid, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    let is_set = |cpu: &u32| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    (done == 0).then(|| (0..CPUS_MAX).filter(is_set).collect())
}

/// CPUs to stay on, as the kernel takes them.
#[derive(Clone, Copy, Debug)]
pub struct Affinity(Mask);

impl Affinity {
    /// These CPUs.
    pub fn of(cpus: &CpuSet) -> Self {
        let mut mask: Mask = [0; CPUS_MAX as usize / 64];
        cpus.iter().for_each(|cpu| mask[cpu as usize / 64] |= 1 << (cpu % 64));
        Self(mask)
    }

    /// Keeps the calling thread on them, as far as they exist. It neither allocates nor locks, so that a child
    /// may call it between fork and exec.
    ///
    /// # Errors
    /// The kernel's, where none of them exists.
    pub fn apply(&self) -> io::Result<()> {
        // SAFETY: the kernel reads at most size_of(mask) bytes of the mask, which outlives the call.
        match unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), self.0.as_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The first published version of the kernel's `perf_event_attr`, which every kernel still takes.
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
pub(crate) fn open_event(kind: u32, config: u64, cpu: u32) -> io::Result<File> {
    let attributes = EventAttributes {
        kind,
        size: size_of::<EventAttributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format: READ_FORMAT,
        flags: 0,
        wakeup_events: 0,
        breakpoint_type: 0,
        config1: 0,
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

/// The twelve letters by which a hypervisor names itself to its guest, `KVMKVMKVM` say.
#[cfg(target_arch = "x86_64")]
pub(crate) fn hypervisor_signature() -> Option<String> {
    /// The leaf that the processor makers left to hypervisors.
    const LEAF: u32 = 0x4000_0000;
    /// Bit of leaf 1, register c: a hypervisor is there, and the leaf above means something.
    const PRESENT: u32 = 1 << 31;
    // Newer compilers count this instruction as safe.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction and leaf 1; it writes registers alone.
    let (features, answer) = unsafe { (std::arch::x86_64::__cpuid(1), std::arch::x86_64::__cpuid(LEAF)) };
    if features.ecx & PRESENT == 0 {
        return None;
    }
    let bytes: Vec<u8> =
        [answer.ebx, answer.ecx, answer.edx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let name: String = bytes.iter().map(|&byte| byte as char).filter(char::is_ascii_graphic).collect();
    (!name.is_empty()).then_some(name)
}

/// Other processors have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn hypervisor_signature() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_size_of_the_first_version() {
        assert_eq!(size_of::<EventAttributes>(), 64);
    }

    #[test]
    fn a_process_that_cannot_be_is_not_available() {
        for pid in [0, u32::MAX, i32::MAX as u32] {
            assert_eq!(process_cpu(pid), None, "pid {pid}");
            assert_eq!(affinity(pid), None, "pid {pid}");
        }
    }

    #[test]
    fn this_process_has_cpu_time_a_usage_and_cpus() {
        let thread = own_cpu(Whose::Thread).expect("own clock");
        let process = own_cpu(Whose::Process).expect("own clock");
        let by_number = process_cpu(std::process::id()).expect("own clock");
        assert!(Nanos::ZERO < thread && thread <= process && process <= by_number);
        assert!(usage(Whose::Process).expect("own usage").ru_maxrss > 0);
        assert!(!affinity(std::process::id()).expect("own mask").is_empty());
    }
}
