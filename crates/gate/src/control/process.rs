//! Which process the backend is, where it runs on this machine.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A Unix socket.
    Unix(PathBuf),
    /// TCP.
    Tcp(SocketAddr),
}

/// The process that listens there; `None` where it is on another host, gone, or hidden from us (another
/// user's sockets, a namespace of its own).
pub fn find(place: &Place) -> Option<u32> {
    match place {
        Place::Unix(path) => peer(&UnixStream::connect(path).ok()?).ok(),
        Place::Tcp(address) if is_local(address.ip()) => owner(&listening(address.port())),
        Place::Tcp(_) => None,
    }
}

/// Who made the socket listen, as the kernel noted it then.
#[allow(unsafe_code)]
fn peer(stream: &UnixStream) -> io::Result<u32> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open for the duration of the call, and `who` is as long as `length` says.
    let done = unsafe {
        let out = (&raw mut who).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, out, &raw mut length)
    };
    match done {
        0 => u32::try_from(who.pid).ok().filter(|pid| *pid > 0).ok_or_else(|| io::ErrorKind::NotFound.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Loopback, or an address that this machine can bind: its own.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || std::net::UdpSocket::bind((ip, 0)).is_ok()
}

/// Inodes of the sockets that listen on a port.
fn listening(port: u16) -> Vec<u64> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let tables = [read("/proc/net/tcp"), read("/proc/net/tcp6")];
    tables.iter().flat_map(|table| listeners(table, port)).collect()
}

/// From a table of the kernel: `sl local_address rem_address st ... inode ...`, in hexadecimal but the inode.
fn listeners(table: &str, port: u16) -> Vec<u64> {
    let row = |line: &str| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local) = columns.get(1)?.rsplit_once(':')?;
        let listens = *columns.get(3)? == "0A" && u16::from_str_radix(local, 16).ok()? == port;
        listens.then(|| columns.get(9)?.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// The process that has one of these sockets open.
fn owner(inodes: &[u64]) -> Option<u32> {
    if inodes.is_empty() {
        return None;
    }
    let wanted: Vec<PathBuf> = inodes.iter().map(|inode| format!("socket:[{inode}]").into()).collect();
    let processes = std::fs::read_dir("/proc").ok()?;
    let mut numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|pid| has_open(Path::new(&format!("/proc/{pid}/fd")), &wanted))
}

fn has_open(folder: &Path, wanted: &[PathBuf]) -> bool {
    let Ok(files) = std::fs::read_dir(folder) else { return false };
    files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok()).any(|target| wanted.contains(&target))
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
        assert_eq!(find(&Place::Tcp(address)), Some(std::process::id()));
        drop(listener);
        assert_eq!(find(&Place::Tcp(address)), None);
    }

    #[test]
    fn a_listener_of_this_process_is_found_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).expect("a socket");
        assert_eq!(find(&Place::Unix(path)), Some(std::process::id()));
        assert_eq!(find(&Place::Unix(folder.path().join("none"))), None);
    }

    #[test]
    fn a_server_on_another_host_has_no_process_here() {
        assert_eq!(find(&Place::Tcp("192.0.2.1:3306".parse().expect("an address"))), None);
    }

    #[test]
    fn tables_are_read_line_by_line_and_damage_is_passed_over() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:0CEA 0100007F:D431 01 00000000:00000000 00:00000000 00000000   999        0 4712 1 0 20 4 30 10 -1\n\
            2: garbage\n";
        assert_eq!(listeners(table, 3306), [4711]);
        assert_eq!(listeners(table, 3307), [0; 0]);
    }
}
