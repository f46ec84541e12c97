//! What a host takes over from its predecessor.

use anyhow::Result;
use evenkeel_share::handover::{Handed, Inheritance, Predecessor};

/// What a host takes over from its predecessor. Without one there is nothing in it.
#[derive(Default)]
pub(super) struct Inherited {
    /// Sockets and clients.
    pub handed: Option<Handed>,
    /// The report that it would have sent to the other hosts next.
    pub report: Option<Vec<u8>>,
    /// The predecessor, which still has all of that and goes on if nobody takes it.
    predecessor: Option<Predecessor>,
}

impl Inherited {
    /// What a predecessor gave; without one, what this process itself has given up and takes back.
    pub(super) fn of(inheritance: Inheritance, predecessor: Option<Predecessor>) -> Self {
        Self { handed: Some(inheritance.handed), report: Some(inheritance.report), predecessor }
    }

    /// Takes all of it for good: from here on the predecessor cannot go on.
    pub fn take(&mut self) -> Result<()> {
        if let Some(predecessor) = &mut self.predecessor {
            // Where this fails, `predecessor` stays here until the end: when it is dropped, that process opens the disks.
            predecessor.take()?;
            self.predecessor = None;
        }
        Ok(())
    }
}
