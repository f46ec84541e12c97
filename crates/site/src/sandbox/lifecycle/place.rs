//! What a domain needs is made before its server and goes with it: a file disk, groups, a network. A janitor knows of each before it is
//! there, so that a kill leaves nothing.

use super::Sandbox;
use crate::sandbox::cgroup::Groups;
use crate::sandbox::net::Network;
use crate::sandbox::record::ProcessId;
use crate::sandbox::startup::janitor;
use crate::sandbox::{Events, SandboxError, image, net, proof};
use evenkeel_os::Stop;
use std::path::Path;

impl Sandbox {
    /// Its file disk, where it has one.
    pub(super) fn mount(&mut self, stop: &Stop) -> Result<(), SandboxError> {
        let Some(disk) = self.record.domain.file_disk else { return Ok(()) };
        self.tell([self.disk_line()])?;
        image::mount(&self.paths, disk)?;
        if stop.is_set() { Err(SandboxError::Stopped { name: self.paths.name.clone() }) } else { Ok(()) }
    }

    /// Its groups, with their limits proved.
    pub(super) fn limit(&mut self, events: Events<'_>) -> Result<(), SandboxError> {
        // Ours alone: the janitor of a killed evenkeel may be removing its group at this very moment.
        let name = format!("{}{}", self.paths.group_prefix(), std::process::id());
        self.groups = Groups::create(&name, &self.record.domain)?;
        self.tell(self.group_lines())?;
        proof::prove(&self.groups, &self.record.domain, events)
    }

    /// Its network, where it has one of its own, with the rate proved.
    pub(super) fn connect(&mut self, stop: &Stop, events: Events<'_>) -> Result<(), SandboxError> {
        let Some(net) = self.record.domain.net else { return Ok(()) };
        let name = net::name(self.paths.hash());
        self.tell([format!("net {name}")])?;
        let network = Network::create(&name, net)?;
        self.network.insert(network).prove(net, stop, events)
    }

    fn disk_line(&self) -> String {
        format!("disk {}", self.paths.disk().display())
    }

    fn group_lines(&self) -> Vec<String> {
        self.groups.folders().iter().map(|folder| format!("group {}", folder.display())).collect()
    }

    /// Tells a janitor, who removes what there is when we are killed.
    fn tell(&mut self, lines: impl IntoIterator<Item = String>) -> Result<(), SandboxError> {
        let janitor = match &mut self.janitor {
            Some(janitor) => janitor,
            none => none.insert(janitor().map_err(SandboxError::io("start", Path::new("/bin/sh")))?),
        };
        let told = lines.into_iter().try_for_each(|line| janitor.tell(&line));
        told.map_err(SandboxError::io("tell a janitor of", &self.paths.dir))
    }

    /// Tells a janitor of all that there is: one that was adopted had none.
    pub(super) fn entrust(&mut self, server: ProcessId) -> Result<(), SandboxError> {
        let mut lines = self.group_lines();
        lines.push(format!("server {} {}", server.pid, server.start_time));
        lines.extend(self.record.domain.file_disk.map(|_| self.disk_line()));
        lines.extend(self.network.as_ref().map(|network| format!("net {}", network.name)));
        self.tell(lines)
    }
}
