//! Where the load goes: the addresses of a target.

use super::error::LoadError;
use evenkeel_os::{Endpoint, address};
use evenkeel_site::server::Address;

/// All addresses of the target, in the order of preference.
pub(super) fn resolve(address: &Address) -> Result<Vec<Endpoint>, LoadError> {
    match address {
        Address::Unix(path) => Endpoint::resolve(&address::Address::Unix(path.clone()))
            .map_err(|_| LoadError::SocketPath(path.clone())),
        Address::Tcp { host, port } => {
            Endpoint::resolve(&address::Address::Tcp { host: host.clone(), port: *port })
                .map_err(|source| LoadError::Resolve { host: host.clone(), source })
        }
    }
}
