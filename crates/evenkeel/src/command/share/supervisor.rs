//! The supervisor of this process (systemd): it is notified when the process serves.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the socket of systemd (sd_notify(3)).
const SOCKET: &str = "NOTIFY_SOCKET";

/// Notifies the supervisor that this process serves. Without a supervisor nothing happens.
pub fn notify_ready() {
    let Some(place) = std::env::var_os(SOCKET).filter(|place| !place.is_empty()) else { return };
    // Where nobody listens the disks are served all the same.
    let _ = send(&place, b"READY=1");
}

fn send(place: &OsStr, said: &[u8]) -> std::io::Result<usize> {
    let socket = UnixDatagram::unbound()?;
    match place.as_bytes().split_first() {
        Some((b'@', name)) => socket.send_to_addr(said, &SocketAddr::from_abstract_name(name)?),
        _ => socket.send_to(said, place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_at_a_path_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("notify");
        let watcher = UnixDatagram::bind(&place).unwrap();
        send(place.as_os_str(), b"READY=1").unwrap();
        let mut said = [0; 20];
        let length = watcher.recv(&mut said).unwrap();
        assert_eq!(&said[..length], b"READY=1");
    }
}
