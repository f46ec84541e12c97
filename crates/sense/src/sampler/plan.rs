//! What to sample, and when, before it begins.

use crate::cpu::{CpuSet, Domain};
use evenkeel_core::Nanos;
use std::path::PathBuf;

#[derive(Clone, Debug, Default)]
pub struct SensePlan {
    /// Domain of the server; `None` where it runs on another machine.
    pub domain: Option<Domain>,
    /// Process of the server, where it is known.
    pub server_pid: Option<u32>,
    /// CPUs that the generator is kept on; the sampling thread stays there too.
    pub generator_cpus: Option<CpuSet>,
    /// Data directory of the server, where it is on this machine.
    pub data_dir: Option<PathBuf>,
    /// From the start of the sampler to the start of the measured phase: the warm-up.
    pub delay: Nanos,
    pub duration: Nanos,
    /// Whether to open hardware counters on the CPUs of the domain.
    pub counters: bool,
}
