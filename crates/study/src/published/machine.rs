//! The machine that a study was made on, as far as it tells.

use evenkeel_sense::Machine;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    pub processor: Option<String>,
    pub cpus: Option<String>,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// The server's program; `None`: the system's.
    pub server_binary: Option<String>,
}

impl MachineRecord {
    /// The machine that we run on.
    pub fn here(server_binary: Option<&Path>) -> Self {
        let machine = Machine::read(None);
        Self {
            processor: machine.processor,
            cpus: machine.cpus.as_ref().map(ToString::to_string),
            hypervisor: machine.hypervisor.name,
            server_binary: server_binary.map(|path| path.display().to_string()),
        }
    }

    /// What is known of it, for the page.
    pub fn known(&self) -> Vec<(&'static str, String)> {
        let all = [("processor", &self.processor), ("CPUs", &self.cpus), ("hypervisor", &self.hypervisor)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}
