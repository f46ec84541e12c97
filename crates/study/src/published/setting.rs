//! A study's own setting, as its plan has it, and the machine that it was made on.

use super::{PublishedError, Result};
use crate::harness::Plan;
use evenkeel_sense::Machine;
use evenkeel_site::sandbox::check_server;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a plan says of a study's own setting.
pub(crate) fn setting<T: DeserializeOwned>(plan: &Plan) -> Result<T> {
    serde_json::from_value(plan.setting.clone()).map_err(|error| {
        let what = format!("plan.json of {}, in `setting`: {error}", plan.id);
        PublishedError::with_hint(what, "restore plan.json from a backup; finished runs stay in the folder")
    })
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    pub processor: Option<String>,
    pub cpus: Option<String>,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// The server's program; `None`: the system's.
    pub server_binary: Option<String>,
    /// What that is, as `MariaDB 10.11.19`; `None` where there was none.
    pub server: Option<String>,
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
            server: check_server(server_binary).ok(),
        }
    }

    /// Errors: the private servers of a resumed study would be of another version than before.
    pub(crate) fn check_server(&self) -> Result<()> {
        let now = check_server(self.server_binary.as_deref().map(Path::new))?;
        match self.server.as_ref().filter(|then| **then != now) {
            None => Ok(()),
            Some(then) => Err(PublishedError::with_hint(
                format!("the study was begun on {then}, and the server here is {now}"),
                "begin a new study, or install the version that this one began with",
            )),
        }
    }

    /// What is known of it, for the page.
    pub fn known(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("processor", &self.processor),
            ("CPUs", &self.cpus),
            ("hypervisor", &self.hypervisor),
            ("server", &self.server),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}
