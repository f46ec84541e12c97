//! The disk of a sandbox is held back while its server is up, and not while that starts or ends.

use super::Sandbox;
use crate::sandbox::{DiskLimit, Events, SandboxError, SandboxEvent, proof};

impl Sandbox {
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
