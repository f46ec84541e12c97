//! A reading is the CPU time that a domain has used until one instant.

use evenkeel_core::Nanos;

/// CPU time counted until one instant, from an origin that only another reading of the same domain shares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuReading {
    /// All time that the domain ran: user, nice, system and interrupts.
    pub busy: Nanos,
    pub user: Option<Nanos>,
    /// In user code of lowered priority.
    pub nice: Option<Nanos>,
    pub system: Option<Nanos>,
    /// In interrupts, hard and soft.
    pub irq: Option<Nanos>,
    /// Idle while a disk was waited for. The kernel knows this of CPUs alone, and only roughly.
    pub iowait: Option<Nanos>,
    /// Ready to run while the hypervisor ran somebody else; known of CPUs alone.
    pub steal: Option<Nanos>,
    /// Idle with nothing to wait for; known of CPUs alone.
    pub idle: Option<Nanos>,
    /// Number of CPUs' worth of time that the domain may use.
    pub capacity: f64,
    /// The step in which `busy` is counted. Where that is a nanosecond or a microsecond, the kernel still
    /// brings a thread that runs undisturbed up to date only at its scheduler's ticks, every 1 to 10 ms.
    pub resolution: Nanos,
    /// Tells a process from a later one with the same number: its start, in ticks from the boot.
    pub incarnation: u64,
}
