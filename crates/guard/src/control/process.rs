//! Finds the process of the backend, where it runs on this machine.

use evenkeel_os::process::peer_process;
use evenkeel_sense::far::listener;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// The process that listens there; `None` where it is on another host, gone, or hidden from us (a namespace of its own;
/// another user who has several servers here, where we may not see whose socket it is).
pub fn find(address: &ServerAddress) -> Option<u32> {
    match address {
        ServerAddress::Unix(path) => peer_process(&UnixStream::connect(path).ok()?).ok(),
        ServerAddress::Tcp(address) if is_local(address.ip()) => listener(address.port()),
        ServerAddress::Tcp(_) => None,
    }
}

/// Loopback, or an address that this machine can bind: its own.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || std::net::UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_listener_of_this_process_is_found_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        assert_eq!(find(&ServerAddress::Tcp(address)), Some(std::process::id()));
        drop(listener);
        assert_eq!(find(&ServerAddress::Tcp(address)), None);
    }

    #[test]
    fn a_listener_of_this_process_is_found_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).expect("a socket");
        assert_eq!(find(&ServerAddress::Unix(path)), Some(std::process::id()));
        assert_eq!(find(&ServerAddress::Unix(folder.path().join("none"))), None);
    }
}
