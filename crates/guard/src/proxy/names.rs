//! The server's addresses, looked up again by name: after a failover the name leads elsewhere.

use super::shared::Shared;
use evenkeel_os::Endpoint;
use evenkeel_os::address::Address;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Time between two looks at whether the server could be reached.
const NAP: Duration = Duration::from_secs(1);
/// Naps after which the name is looked up in any case.
const NAPS: u32 = 30;

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
