//! Others read here what they need to know of a running sandbox. Its disk is held back while its server is up, and not while
//! that starts or ends.

use super::Sandbox;
use crate::sandbox::{Cgroup, DiskLimit, Domain, Events, SandboxError, proof};
use crate::server::{Address, Target};
use evenkeel_sense::cpu::CpuOf;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

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

    /// The server by its unix socket, or by its own address where it has a network of its own; the account has all privileges.
    pub fn target(&self) -> Target {
        if self.network.is_some() { self.tcp_target() } else { self.socket_target() }
    }

    pub(super) fn socket_target(&self) -> Target {
        self.record.target(Address::Unix(self.record.socket.clone()))
    }

    /// The server by TCP, on 127.0.0.1 or at its own address; the account has all privileges.
    pub fn tcp_target(&self) -> Target {
        self.record.target(Address::Tcp { host: self.bind().to_string(), port: self.record.port })
    }

    /// Its network namespace and its address there; `None` where it has no network of its own.
    pub fn network(&self) -> Option<(PathBuf, Ipv4Addr)> {
        self.network.as_ref().map(|network| (network.namespace(), network.address))
    }

    /// Takes an address of the bridge besides its own, or gives it back: connections to it lead here from now on.
    pub fn hold_address(&self, address: Ipv4Addr, holds: bool) -> Result<(), SandboxError> {
        self.network.as_ref().map_or(Ok(()), |network| network.hold(address, holds))
    }

    /// An address of the bridge that no server holds; `None` where it has no network of its own.
    pub fn free_address(&self) -> Option<Ipv4Addr> {
        self.network.as_ref()?.free_address()
    }

    /// Cuts its network, or mends it; where it has none of its own nothing happens.
    pub fn cut_network(&self, cut: bool) -> Result<(), SandboxError> {
        self.network.as_ref().map_or(Ok(()), |network| network.cut(cut))
    }

    /// Where it listens: in a network of its own at all of its addresses.
    pub(super) fn listens(&self) -> Ipv4Addr {
        if self.network.is_some() { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST }
    }

    /// Where it is reached.
    pub(super) fn bind(&self) -> Ipv4Addr {
        self.network.as_ref().map_or(Ipv4Addr::LOCALHOST, |network| network.address)
    }

    /// The server's process number; changes with a restart.
    pub fn pid(&self) -> i32 {
        self.server.as_ref().map_or(0, |server| server.id.pid)
    }

    /// Where it runs.
    pub fn domain(&self) -> &Domain {
        &self.record.domain
    }

    /// Whose CPU time is its: that of CPUs of its own, or else its process, which changes with a restart.
    pub fn cpu_of(&self) -> CpuOf {
        let process = || CpuOf::Process(u32::try_from(self.pid()).unwrap_or_default());
        self.record.domain.cpus.clone().map_or_else(process, CpuOf::Cpus)
    }

    /// Its control groups; empty without limits or where there are none.
    pub fn cgroups(&self) -> &[Cgroup] {
        self.groups.groups()
    }

    /// The settings that were asked for, defaults not among them.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.record.settings
    }

    /// Tries the limit of the disk before a server runs under it.
    pub(super) fn prove_disk(&mut self, events: Events<'_>) -> Result<(), SandboxError> {
        let (limit, data) = (self.record.domain.disk, self.paths.data());
        if limit.is_none() {
            return Ok(());
        }
        let words = format!("{limit} on the disk of {}", data.display());
        let folder = self.paths.around_data();
        proof::once(&words, events, || proof::prove_disk(&self.groups, &folder, limit))
    }

    /// Sets a limit for the running server, where one was asked for.
    pub(super) fn hold_disk(&self, limit: DiskLimit) -> Result<(), SandboxError> {
        match self.record.domain.disk.is_none() {
            true => Ok(()),
            false => proof::set_disk(&self.groups, &self.paths.data(), limit),
        }
    }
}
