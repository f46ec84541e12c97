//! Sockets at which clients arrive, before an engine serves them.

use super::ShareError;
use super::front::nbd::Nbd;
use super::plan::{DiskPlan, NbdPlan, exports};
use evenkeel_os::address::Address;
use evenkeel_os::{Access, Listener};

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

/// Where clients of a disk may connect that is served later: they wait until it is. Dropped, it takes nothing down but itself.
pub struct Doors(pub(super) Vec<(Address, Listener)>);

impl Doors {
    /// Listens at all of these addresses.
    ///
    /// # Errors
    /// One of them is taken, or may not be made.
    pub fn bind(places: &[(Address, Access)]) -> Result<Self, ShareError> {
        let bind = |(address, access): &(Address, Access)| {
            listen(address, *access).map(|listener| (address.clone(), listener))
        };
        places.iter().map(bind).collect::<Result<_, _>>().map(Self)
    }

    /// Ports, where the system chose them too.
    pub fn ports(&self) -> Vec<u16> {
        self.0.iter().filter_map(|(_, listener)| listener.port()).collect()
    }
}

pub(super) fn listen(address: &Address, access: Access) -> Result<Listener, ShareError> {
    let failed = |source| ShareError::Listen { address: address.clone(), source };
    Listener::bind_for(address, access).map_err(failed)
}
