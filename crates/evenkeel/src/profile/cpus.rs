//! Which CPUs the server of a profile gets, and which its generator.

use super::flags::Args;
use crate::config::units;
use anyhow::Result;
use evenkeel_sense::cpu::Domain;
use evenkeel_site::sandbox::CpuSet;

/// The CPUs that this process may use, which a container may have made few.
fn own_cpus() -> Vec<u32> {
    let allowed = Domain::Process(std::process::id()).cpus();
    let cpus: Vec<u32> = allowed.iter().flat_map(CpuSet::iter).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The server gets all CPUs but the last, which the generator takes; one CPU is shared.
pub fn server_cpus(args: &Args) -> Result<CpuSet> {
    if let Some(text) = &args.server.cpus {
        return units::machine_cpus(text, "--cpus");
    }
    let own = own_cpus();
    Ok(own[..(own.len() - 1).max(1)].iter().copied().collect())
}

/// CPUs of the load threads; none where they may run on any.
pub fn generator_cpus(args: &Args) -> Result<Vec<usize>> {
    match &args.generator_cpus {
        Some(text) => Ok(numbers(&units::machine_cpus(text, "--generator-cpus")?)),
        None if args.targets.is_empty() => {
            Ok(own_cpus().last().map(|cpu| *cpu as usize).into_iter().collect())
        }
        None => Ok(Vec::new()),
    }
}

/// CPUs as the store has them.
pub fn numbers(cpus: &CpuSet) -> Vec<usize> {
    cpus.iter().map(|cpu| cpu as usize).collect()
}
