//! Sockets at which clients arrive, before an engine serves them.

use super::ShareError;
use super::front::nbd::Nbd;
use super::plan::{DiskPlan, NbdPlan, exports};

/// Sockets at which clients may connect already, or are connected; they are answered once an engine serves them.
pub struct Listening(pub(super) Nbd);

impl Listening {
    /// Listens for clients of these disks, whose requests may hold so many bytes of buffers.
    ///
    /// # Errors
    /// As [`Engine::start_nbd`](super::Engine::start_nbd).
    pub fn bind(nbd: &NbdPlan, disks: &[DiskPlan], memory: usize) -> Result<Self, ShareError> {
        Ok(Self(Nbd::bind(nbd, exports(disks)?, memory)?))
    }
}
