//! Where the load goes: the addresses of a target.

use super::error::{LoadError, show};
use evenkeel_os::{Endpoint, address};
use evenkeel_site::server::Address;

/// All addresses of the target, in the order of preference.
pub(super) fn resolve(target: &Address) -> Result<Vec<Endpoint>, LoadError> {
    let known = match target {
        Address::Unix(path) => address::Address::Unix(path.clone()),
        Address::Tcp { host, port } => address::Address::Tcp { host: host.clone(), port: *port },
    };
    Endpoint::resolve(&known).map_err(LoadError::cannot(format!("resolve {}", show(target))))
}
