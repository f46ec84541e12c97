//! Which CPUs a private server gets, and which its generator.

use super::flags::Args;
use crate::config::units;
use anyhow::Result;
use evenkeel_sense::cpu::Domain;
use evenkeel_site::sandbox::CpuSet;

/// CPUs of a private server, and of its generator: all that this process may use but the last, and the last. One CPU is shared.
pub fn split_cpus() -> (CpuSet, CpuSet) {
    let own: Vec<u32> = Domain::Process(std::process::id()).cpus().iter().flat_map(CpuSet::iter).collect();
    let own = if own.is_empty() { vec![0] } else { own };
    let others = own[..(own.len() - 1).max(1)].iter().copied().collect();
    (others, own.last().copied().into_iter().collect())
}

pub fn server_cpus(args: &Args) -> Result<CpuSet> {
    match &args.server.cpus {
        Some(text) => units::machine_cpus(text, "--cpus"),
        None => Ok(split_cpus().0),
    }
}

/// CPUs of the load threads; none where they may run on any.
pub fn generator_cpus(args: &Args) -> Result<Vec<usize>> {
    match &args.generator_cpus {
        Some(text) => Ok(numbers(&units::machine_cpus(text, "--generator-cpus")?)),
        None if args.targets.is_empty() => Ok(numbers(&split_cpus().1)),
        None => Ok(Vec::new()),
    }
}

/// CPUs as the store has them.
pub fn numbers(cpus: &CpuSet) -> Vec<usize> {
    cpus.iter().map(|cpu| cpu as usize).collect()
}
