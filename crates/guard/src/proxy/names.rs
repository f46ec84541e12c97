//! The server's addresses, looked up again by name: after a failover the name leads elsewhere.

use super::shared::Shared;
use evenkeel_os::address::Address;
use evenkeel_os::{Endpoint, Socket};
use std::net::IpAddr;
use std::sync::{Arc, RwLock, Weak};
use std::time::Duration;

/// Time between two looks at whether the server could be reached.
const NAP: Duration = Duration::from_secs(1);
/// Naps after which the name is looked up in any case.
const NAPS: u32 = 30;

/// Addresses that can be exchanged while connections are made.
pub struct Backend(RwLock<Arc<Vec<Endpoint>>>);

impl Backend {
    /// With what was found at the start.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self(RwLock::new(Arc::new(endpoints)))
    }

    /// The addresses to try, in the order of preference; never none.
    pub fn endpoints(&self) -> Arc<Vec<Endpoint>> {
        // Nobody panics while he holds it: it is only read and replaced.
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// A socket for the first of them, connected to nobody yet.
    pub fn socket(&self) -> std::io::Result<Socket> {
        match self.endpoints().first() {
            Some(endpoint) => Socket::unconnected(endpoint),
            None => Err(std::io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    fn replace(&self, endpoints: Vec<Endpoint>) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(endpoints);
    }
}

/// Looks the name up again, from a thread of its own, since the system's resolver waits. It ends by itself soon after
/// the guard; an address or a socket file needs none.
pub fn follow(shared: &Arc<Shared>, address: &Address) -> std::io::Result<()> {
    let Address::Tcp { host, .. } = address else { return Ok(()) };
    if host.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    let (shared, address) = (Arc::downgrade(shared), address.clone());
    std::thread::Builder::new().name("names".into()).spawn(move || look_up(&shared, &address)).map(drop)
}

fn look_up(shared: &Weak<Shared>, address: &Address) {
    let (mut naps, mut failed) = (0, 0);
    loop {
        std::thread::sleep(NAP);
        naps += 1;
        let Some(failures) = shared.upgrade().map(|shared| shared.stats.unreachable.get()) else { return };
        if failures == failed && naps < NAPS {
            continue;
        }
        (naps, failed) = (0, failures);
        // A name that cannot be resolved now leaves what was known.
        if let (Ok(found), Some(shared)) = (Endpoint::resolve(address), shared.upgrade()) {
            shared.backend.replace(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_exchanged_while_others_hold_the_old_ones() {
        let of = |port| Address::Tcp { host: "localhost".into(), port };
        let old = Endpoint::resolve(&of(1)).expect("localhost has an address");
        let backend = Backend::new(old);
        let held = backend.endpoints();
        backend.replace(Vec::new());
        assert!(!held.is_empty());
        assert!(backend.endpoints().is_empty());
    }
}
