//! A process may run on some CPUs, and a thread may stay on fewer; a guest can find out its hypervisor.

use super::usage::process_id;
use std::io;

/// Numbers of CPUs lie below this; it is also the most that Linux can be built for.
pub const CPUS_MAX: u32 = 8_192;

type Mask = [u64; CPUS_MAX as usize / 64];

/// CPUs to stay on, as the kernel takes them.
#[derive(Clone, Copy, Debug)]
pub struct Affinity(Mask);

impl Affinity {
    /// These CPUs; numbers from [`CPUS_MAX`] on name none and are left out.
    pub fn of(cpus: impl IntoIterator<Item = u32>) -> Self {
        let mut mask: Mask = [0; CPUS_MAX as usize / 64];
        let known = cpus.into_iter().filter(|cpu| *cpu < CPUS_MAX);
        known.for_each(|cpu| mask[cpu as usize / 64] |= 1 << (cpu % 64));
        Self(mask)
    }

    /// The CPUs that a process (its first thread) may run on: online, in its cpuset and in its mask; `None` where it is gone.
    pub fn of_process(pid: u32) -> Option<Self> {
        let pid = process_id(pid)?;
        let mut mask: Mask = [0; CPUS_MAX as usize / 64];
        // SAFETY: the kernel writes at most size_of(mask) bytes, in whole words of bits; the mask is larger
        // than libc's cpu_set_t because that ends at 1024 CPUs.
        let done = unsafe { libc::sched_getaffinity(pid, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
        (done == 0).then_some(Self(mask))
    }

    /// Their numbers, upwards.
    pub fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        (0..CPUS_MAX).filter(|cpu| self.0[*cpu as usize / 64] >> (cpu % 64) & 1 == 1)
    }

    /// Keeps the calling thread on them, as far as they exist. It neither allocates nor locks, so that a child
    /// may call it between fork and exec.
    pub fn apply(&self) -> io::Result<()> {
        // SAFETY: the kernel reads at most size_of(mask) bytes of the mask, which outlives the call.
        match unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), self.0.as_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The twelve letters by which a hypervisor names itself to its guest, `KVMKVMKVM` say.
#[cfg(target_arch = "x86_64")]
pub fn hypervisor_signature() -> Option<String> {
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
pub fn hypervisor_signature() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_cpus_and_one_that_cannot_be_has_none() {
        let own = Affinity::of_process(std::process::id()).expect("own mask");
        assert!(own.cpus().count() > 0);
        for pid in [0, u32::MAX, i32::MAX as u32] {
            assert!(Affinity::of_process(pid).is_none(), "pid {pid}");
        }
    }

    #[test]
    fn cpus_come_back_as_they_went_in_and_those_that_cannot_be_are_left_out() {
        let cpus = [0, 63, 64, 1_100, CPUS_MAX - 1];
        assert!(Affinity::of(cpus.into_iter().chain([CPUS_MAX, u32::MAX])).cpus().eq(cpus));
        assert!(Affinity::of([CPUS_MAX]).apply().is_err(), "no CPU is left");
    }
}
