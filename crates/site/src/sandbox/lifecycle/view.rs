//! Others read here what they need to know of a running sandbox. Its disk is held back while its server is up, and not while
//! that starts or ends.

use super::Sandbox;
use crate::sandbox::{Cgroup, DiskLimit, Events, SandboxError, SandboxEvent, proof};
use crate::server::{Address, Target};
use evenkeel_sense::cpu::Domain;
use std::collections::BTreeMap;
use std::path::Path;

impl Sandbox {
    pub fn name(&self) -> &str {
        &self.paths.name
    }

    pub fn dir(&self) -> &Path {
        &self.paths.dir
    }

    pub fn socket(&self) -> &Path {
        &self.record.socket
    }

    /// Whether it stays until somebody says `down`.
    pub fn is_detached(&self) -> bool {
        self.record.detached
    }

    pub fn is_up(&self) -> bool {
        self.server.is_some()
    }

    /// The server by its unix socket; the account has all privileges.
    pub fn target(&self) -> Target {
        self.record.target(Address::Unix(self.record.socket.clone()))
    }

    /// The server by TCP on 127.0.0.1; the account has all privileges.
    pub fn tcp_target(&self) -> Target {
        self.record.target(Address::Tcp { host: "127.0.0.1".into(), port: self.record.port })
    }

    /// The server's process number; changes with a restart.
    pub fn pid(&self) -> i32 {
        self.server.as_ref().map_or(0, |server| server.id.pid)
    }

    /// Where the server runs, for those who measure it: CPUs of its own, or else its process, which changes with a restart.
    pub fn domain(&self) -> Domain {
        let process = || Domain::Process(u32::try_from(self.pid()).unwrap_or_default());
        self.record.cpu_set().map_or_else(process, Domain::Cpus)
    }

    /// Its control groups; empty without limits or where there are none.
    pub fn cgroups(&self) -> &[Cgroup] {
        self.groups.groups()
    }

    /// The settings that were asked for, defaults not among them.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.record.settings
    }

    /// Tries the limit of the disk before the first server runs under it, once since the start of the machine.
    pub(super) fn prove_disk(&mut self, events: Events<'_>) -> Result<(), SandboxError> {
        let limit = self.record.disk;
        if limit.is_none() || self.record.is_disk_proved() {
            return Ok(());
        }
        let found = proof::prove(self.groups.groups(), &self.paths.data(), limit)?;
        events(SandboxEvent::Note(format!("disk limited to {limit}: {found}")));
        self.record.set_disk_proved();
        self.record.save(&self.paths)
    }

    /// Sets a limit for the running server, where one was asked for.
    pub(super) fn hold_disk(&self, limit: DiskLimit) -> Result<(), SandboxError> {
        match self.record.disk.is_none() {
            true => Ok(()),
            false => proof::set(self.groups.groups(), &self.paths.data(), limit),
        }
    }
}
