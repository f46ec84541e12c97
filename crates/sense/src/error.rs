//! What sense refuses. What it merely cannot find is `None` instead.

use std::io;

/// A refusal.
#[derive(Debug, thiserror::Error)]
pub enum SenseError {
    /// Not a list of CPUs as the kernel writes it.
    #[error("not a list of CPUs: {text:?} (expected for example 0-3,8, below {limit})", limit = crate::cpu::CPUS_MAX)]
    CpuSet {
        /// What was given.
        text: String,
    },
    /// The sampling thread did not start.
    #[error("cannot start the sampling thread")]
    Thread {
        /// Why.
        source: io::Error,
    },
    /// Counting on a whole CPU is not permitted to this process.
    #[error("counters need CAP_PERFMON or kernel.perf_event_paranoid at most 0, which is {paranoid}")]
    CountersForbidden {
        /// The kernel's setting.
        paranoid: i64,
    },
    /// The kernel was built without performance events, or hides them.
    #[error("the kernel has no performance events")]
    CountersAbsent,
    /// More CPUs than counters are worth.
    #[error("counters on {cpus} CPUs would take {files} open files, more than {files_max}")]
    CountersTooMany {
        /// CPUs asked for.
        cpus: usize,
        /// Files that would be needed.
        files: usize,
        /// Files that are granted at most.
        files_max: usize,
    },
    /// The kernel knows performance events, yet the processor (or the hypervisor) gives none of ours.
    #[error("no counter can be opened on CPU {cpu}")]
    CountersRefused {
        /// First CPU tried.
        cpu: u32,
        /// What the kernel said to the last counter.
        source: io::Error,
    },
}
