//! Where clients arrive.

use crate::{ListenAddress, ShareError};
use evenkeel_os::Listener;
use evenkeel_os::address::Address;

pub(super) struct Door {
    pub listener: Listener,
    pub address: Address,
    pub disk: Option<usize>,
    /// Clients that came here and are still there.
    pub clients: usize,
    /// Somebody came since this was looked at.
    pub knocks: bool,
}

impl Door {
    pub fn new(listener: Listener, address: Address, disk: Option<usize>) -> Self {
        Self { listener, address, disk, clients: 0, knocks: false }
    }

    pub fn bind(place: &ListenAddress) -> Result<Self, ShareError> {
        let failed = |source| ShareError::Listen { address: place.address.clone(), source };
        let listener = Listener::bind_for(&place.address, place.access).map_err(failed)?;
        Ok(Self::new(listener, place.address.clone(), place.disk))
    }
}
