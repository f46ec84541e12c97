//! A guard whose server is itself: every login would come back as a new client, until nothing is left.

use anyhow::{Result, bail};
use evenkeel_guard::proxy::Address;
use std::net::IpAddr;

/// Refuses a place to listen at that is the server's own.
/// Errors: names the place, and both words for it where they differ.
pub fn check(listen: &[Address], backend: &Address) -> Result<()> {
    let Some(same) = listen.iter().find(|listen| is_same(listen, backend)) else { return Ok(()) };
    let both = if same == backend { same.to_string() } else { format!("{same}, which is {backend}") };
    bail!(
        "`listen` and `backend` are both {both}: the guard would be its own server; give one of them another address"
    )
}

/// Whether who connects to `backend` comes to who listens at `listen`, as far as their words say: no name is looked up.
fn is_same(listen: &Address, backend: &Address) -> bool {
    match (listen, backend) {
        // A port that the system chooses is nobody's.
        (Address::Tcp { port: 0, .. }, _) => false,
        (Address::Tcp { host, port }, Address::Tcp { host: server, port: at }) => {
            port == at
                && (host == server || is_any(host) && is_here(server) || is_here(host) && is_any(server))
        }
        _ => listen == backend,
    }
}

/// All addresses of this machine, or a name for one that is not looked up.
fn is_any(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

fn is_here(host: &str) -> bool {
    is_any(host) || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(listen: &str, backend: &str) -> Option<String> {
        let [listen, backend] = [listen, backend].map(|text| text.parse::<Address>().unwrap());
        check(&[Address::Unix("/run/other.sock".into()), listen], &backend)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn a_guard_is_not_its_own_server() {
        for (listen, backend) in [
            ("127.0.0.1:3306", "127.0.0.1:3306"),
            ("localhost:3306", "127.0.0.1:3306"),
            ("0.0.0.0:3306", "localhost:3306"),
            ("[::]:3306", "[::1]:3306"),
            ("127.0.0.1:3306", "0.0.0.0:3306"),
            ("nobody.invalid:3306", "nobody.invalid:3306"),
            ("/run/mysqld/mysqld.sock", "/run/mysqld/mysqld.sock"),
        ] {
            let told = told(listen, backend).unwrap_or_else(|| panic!("{listen} is {backend}"));
            assert!(told.contains(listen) && told.contains(backend), "{told}");
        }
    }

    #[test]
    fn another_port_address_or_machine_is_another_place() {
        for (listen, backend) in [
            ("127.0.0.1:3307", "127.0.0.1:3306"),
            ("127.0.0.1:3306", "127.0.0.2:3306"),
            ("0.0.0.0:3306", "198.51.100.1:3306"),
            ("127.0.0.1:0", "127.0.0.1:3306"),
            ("127.0.0.1:3306", "/run/mysqld/mysqld.sock"),
            ("/run/guard.sock", "/run/mysqld/mysqld.sock"),
            ("0.0.0.0:3306", "nobody.invalid:3306"),
        ] {
            assert_eq!(told(listen, backend), None, "{listen} {backend}");
        }
    }
}
