//! The machine that a study was made on, as far as it tells.

use serde::{Deserialize, Serialize};

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
    /// What is known of it, for the page.
    pub fn known(&self) -> Vec<(&'static str, String)> {
        let all = [("processor", &self.processor), ("CPUs", &self.cpus), ("hypervisor", &self.hypervisor)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}
