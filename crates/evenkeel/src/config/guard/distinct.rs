//! A guard whose server is itself: every login would come back as a new client, until nothing is left.

use anyhow::{Result, bail};
use evenkeel_guard::proxy::Address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};

/// Refuses a place to listen at that is the server's own.
///
/// # Errors
/// Names the place, and both words for it where they differ.
pub fn check(listen: &[Address], backend: &Address) -> Result<()> {
    let Some(same) = listen.iter().find(|listen| is_same(listen, backend)) else { return Ok(()) };
    let both = if same == backend { same.to_string() } else { format!("{same}, which is {backend}") };
    bail!(
        "`listen` and `backend` are both {both}: the guard would be its own server; give one of them another address"
    )
}

/// Whether who connects to `backend` comes to who listens at `listen`.
pub fn is_same(listen: &Address, backend: &Address) -> bool {
    match (listen, backend) {
        (Address::Unix(listen), Address::Unix(backend)) => place(listen) == place(backend),
        // A port that the system chooses is nobody's.
        (Address::Tcp { port: 0, .. }, _) => false,
        (Address::Tcp { host, port }, Address::Tcp { host: server, port: at }) if port == at => {
            host == server || reaches(&addresses(host), &addresses(server))
        }
        _ => false,
    }
}

/// The path without links; the file need not be there, its folder has to.
fn place(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    whole.or_else(folder).unwrap_or_else(|| path.to_owned())
}

/// A name without addresses, or one that nobody answers for, is for the start to complain about.
fn addresses(host: &str) -> Vec<IpAddr> {
    let found = (host, 0).to_socket_addrs().into_iter().flatten();
    found.map(|address| address.ip().to_canonical()).collect()
}

fn reaches(listen: &[IpAddr], server: &[IpAddr]) -> bool {
    server.iter().any(|server| listen.iter().any(|listen| takes(*listen, *server)))
}

/// Whether who listens at `listen` is asked by who connects to `server`. The address "any" is all of this machine's;
/// that of IPv6 takes IPv4 too. Who connects to it comes to this machine.
fn takes(listen: IpAddr, server: IpAddr) -> bool {
    let server = match server {
        IpAddr::V4(any) if any.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(any) if any.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        server => server,
    };
    listen == server || listen.is_unspecified() && (listen.is_ipv6() || server.is_ipv4()) && is_here(server)
}

/// Whether it is one of this machine's addresses: to those the kernel speaks from the same address. Nothing is sent.
fn is_here(address: IpAddr) -> bool {
    let any =
        if address.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let own = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    address.is_loopback() || own().is_ok_and(|own| own.ip() == address)
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
    fn a_guard_is_not_its_own_server_by_whatever_name() {
        for (listen, backend) in [
            ("127.0.0.1:3306", "127.0.0.1:3306"),
            ("localhost:3306", "127.0.0.1:3306"),
            ("127.0.0.1:3306", "localhost:3306"),
            ("0.0.0.0:3306", "127.0.0.5:3306"),
            ("0.0.0.0:3306", "localhost:3306"),
            ("[::]:3306", "127.0.0.1:3306"),
            ("[::]:3306", "[::1]:3306"),
            ("127.0.0.1:3306", "0.0.0.0:3306"),
            ("[::ffff:127.0.0.1]:3306", "127.0.0.1:3306"),
            ("nobody.invalid:3306", "nobody.invalid:3306"),
        ] {
            let told = told(listen, backend).unwrap_or_else(|| panic!("{listen} is {backend}"));
            assert!(told.contains(listen) && told.contains(backend), "{told}");
        }
    }

    #[test]
    fn another_port_address_or_machine_is_another_place() {
        for (listen, backend) in [
            ("127.0.0.1:3307", "127.0.0.1:3306"),
            ("127.0.0.1:3306", "127.0.0.5:3306"),
            // Kept for documentation: nobody's.
            ("0.0.0.0:3306", "198.51.100.1:3306"),
            ("[::]:3306", "[2001:db8::1]:3306"),
            ("127.0.0.1:0", "127.0.0.1:3306"),
            ("127.0.0.1:3306", "/run/mysqld/mysqld.sock"),
            ("/run/guard.sock", "/run/mysqld/mysqld.sock"),
            ("0.0.0.0:3306", "nobody.invalid:3306"),
        ] {
            assert_eq!(told(listen, backend), None, "{listen} {backend}");
        }
    }

    #[test]
    fn links_to_a_socket_or_its_folder_are_the_same_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(path("run")).unwrap();
        std::os::unix::fs::symlink(path("run"), path("linked")).unwrap();
        assert!(told(&path("run/a.sock"), &path("linked/a.sock")).is_some());
        std::fs::write(path("run/a.sock"), "").unwrap();
        std::os::unix::fs::symlink(path("run/a.sock"), path("b.sock")).unwrap();
        assert!(told(&path("b.sock"), &path("linked/a.sock")).is_some());
        assert_eq!(told(&path("run/b.sock"), &path("linked/a.sock")), None);
    }
}
