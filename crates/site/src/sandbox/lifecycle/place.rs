//! What a domain needs is made before its server and goes with it: a file disk, groups, a network. A janitor knows of each before it is
//! there, so that a kill leaves nothing.

use super::Sandbox;
use crate::sandbox::cgroup::Groups;
use crate::sandbox::net::Network;
use crate::sandbox::record::ProcessId;
use crate::sandbox::startup::Janitor;
use crate::sandbox::{Events, SandboxError, image, net, proof};
use evenkeel_os::Stop;
use std::path::Path;

impl Sandbox {
    /// Its file disk, where it has one.
    pub(super) fn mount(&mut self, stop: &Stop) -> Result<(), SandboxError> {
        let Some(disk) = self.record.domain.file_disk else { return Ok(()) };
        let at = self.paths.disk();
        self.janitor()?.of_disk(&at).map_err(SandboxError::io("tell a janitor of", &at))?;
        image::mount(&self.paths, disk)?;
        if stop.is_set() { Err(SandboxError::Stopped { name: self.paths.name.clone() }) } else { Ok(()) }
    }

    /// Its groups, with their limits proved.
    pub(super) fn limit(&mut self, events: Events<'_>) -> Result<(), SandboxError> {
        // Ours alone: the janitor of a killed evenkeel may be removing its group at this very moment.
        let name = format!("{}{}", self.paths.group_prefix(), std::process::id());
        self.groups = Groups::create(&name, &self.record.domain)?;
        let groups = self.groups.folders();
        self.janitor()?.of_groups(&groups).map_err(SandboxError::io("tell a janitor of", &self.paths.dir))?;
        proof::prove(&self.groups, &self.record.domain, events)
    }

    /// Its network, where it has one of its own, with the rate proved.
    pub(super) fn connect(&mut self, stop: &Stop, events: Events<'_>) -> Result<(), SandboxError> {
        let Some(net) = self.record.domain.net else { return Ok(()) };
        let name = net::name(self.paths.hash());
        self.janitor()?.of_network(&name).map_err(SandboxError::io("tell a janitor of", &self.paths.dir))?;
        let network = Network::create(&name, net)?;
        self.network.insert(network).prove(net, stop, events)
    }

    /// Who removes what there is when we are killed.
    fn janitor(&mut self) -> Result<&mut Janitor, SandboxError> {
        match &mut self.janitor {
            Some(janitor) => Ok(janitor),
            none => {
                Ok(none.insert(Janitor::hire().map_err(SandboxError::io("start", Path::new("/bin/sh")))?))
            }
        }
    }

    /// Tells a janitor of all that there is: one that was adopted had none.
    pub(super) fn entrust(&mut self, server: ProcessId) -> Result<(), SandboxError> {
        let groups = self.groups.folders();
        let disk = self.record.domain.file_disk.map(|_| self.paths.disk());
        let network = self.network.as_ref().map(|network| network.name.clone());
        let dir = self.paths.dir.clone();
        let janitor = self.janitor()?;
        let told = janitor.of_server(server).and_then(|()| janitor.of_groups(&groups));
        let told = told.and_then(|()| disk.map_or(Ok(()), |at| janitor.of_disk(&at)));
        told.and_then(|()| network.map_or(Ok(()), |name| janitor.of_network(&name)))
            .map_err(SandboxError::io("tell a janitor of", &dir))
    }
}
