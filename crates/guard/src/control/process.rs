//! Finds the process of the backend, where it runs on this machine.

use evenkeel_os::process::peer_process;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];

/// The process that listens there; `None` where it is on another host, gone, or hidden from us (a namespace of its own;
/// another user who has several servers here, where we may not see whose socket it is).
pub fn find(address: &ServerAddress) -> Option<u32> {
    match address {
        ServerAddress::Unix(path) => peer_process(&UnixStream::connect(path).ok()?).ok(),
        ServerAddress::Tcp(address) if is_local(address.ip()) => {
            let sockets = listening(address.port());
            owner(&sockets).or_else(|| only_server(Path::new("/proc"), &sockets))
        }
        ServerAddress::Tcp(_) => None,
    }
}

/// Loopback, or an address that this machine can bind: its own.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || std::net::UdpSocket::bind((ip, 0)).is_ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    inode: u64,
    uid: u32,
}

/// The sockets that listen on a port.
fn listening(port: u16) -> Vec<Socket> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let tables = [read("/proc/net/tcp"), read("/proc/net/tcp6")];
    tables.iter().flat_map(|table| listeners(table, port)).collect()
}

/// From a table of the kernel: `sl local_address rem_address st ... uid timeout inode ...`, addresses and states in
/// hexadecimal.
fn listeners(table: &str, port: u16) -> Vec<Socket> {
    let row = |line: &str| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local) = columns.get(1)?.rsplit_once(':')?;
        let listens = *columns.get(3)? == "0A" && u16::from_str_radix(local, 16).ok()? == port;
        let socket =
            || Some(Socket { uid: columns.get(7)?.parse().ok()?, inode: columns.get(9)?.parse().ok()? });
        listens.then(socket).flatten()
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// The process that has one of these sockets open.
fn owner(sockets: &[Socket]) -> Option<u32> {
    if sockets.is_empty() {
        return None;
    }
    let wanted: Vec<PathBuf> =
        sockets.iter().map(|socket| format!("socket:[{}]", socket.inode).into()).collect();
    processes(Path::new("/proc")).find(|pid| has_open(Path::new(&format!("/proc/{pid}/fd")), &wanted))
}

/// Whose files another user has open only root sees. Whose socket it is everybody does: the one server of that user.
fn only_server(proc: &Path, sockets: &[Socket]) -> Option<u32> {
    let mut servers = processes(proc).filter(|pid| {
        let place = |file: &str| proc.join(pid.to_string()).join(file);
        let read = |file: &str| std::fs::read_to_string(place(file)).unwrap_or_default();
        let listens = |status: &str| {
            let uid = effective_user(status);
            sockets.iter().any(|socket| Some(socket.uid) == uid)
        };
        // One whose files we may see would have been found by its socket.
        let is_hidden = || std::fs::read_dir(place("fd")).is_err();
        PROGRAMS.contains(&read("comm").trim_end()) && listens(&read("status")) && is_hidden()
    });
    let only = servers.next()?;
    servers.next().is_none().then_some(only)
}

/// From `Uid:` with the real, effective, saved and file system's user.
fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn processes(proc: &Path) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(proc).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
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

    #[test]
    fn tables_are_read_line_by_line_and_damage_is_passed_over() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:0CEA 0100007F:D431 01 00000000:00000000 00:00000000 00000000   999        0 4712 1 0 20 4 30 10 -1\n\
            2: garbage\n";
        assert_eq!(listeners(table, 3306), [Socket { inode: 4711, uid: 999 }]);
        assert_eq!(listeners(table, 3307), []);
    }

    fn proc_with(all: &[(u32, &str, u32)]) -> tempfile::TempDir {
        let proc = tempfile::tempdir().expect("a folder");
        for (pid, name, uid) in all {
            let folder = proc.path().join(pid.to_string());
            std::fs::create_dir(&folder).expect("a process");
            std::fs::write(folder.join("comm"), format!("{name}\n")).expect("a name");
            let status = format!("Name:\t{name}\nUid:\t0\t{uid}\t{uid}\t{uid}\n");
            std::fs::write(folder.join("status"), status).expect("a status");
        }
        proc
    }

    #[test]
    fn the_server_of_another_user_is_known_by_its_name_where_there_is_one() {
        let sockets = [Socket { inode: 4711, uid: 999 }];
        let others = [(7, "mariadbd", 1000), (8, "bash", 999), (9, "mariadb", 999)];
        assert_eq!(only_server(proc_with(&others).path(), &sockets), None);
        let one = [&others[..], &[(12, "mysqld", 999)]].concat();
        assert_eq!(only_server(proc_with(&one).path(), &sockets), Some(12));
        assert_eq!(only_server(proc_with(&one).path(), &[]), None);
        let two = [&one[..], &[(13, "mariadbd", 999)]].concat();
        let both = proc_with(&two);
        assert_eq!(only_server(both.path(), &sockets), None, "either could be it");
        std::fs::create_dir(both.path().join("13/fd")).expect("a folder");
        assert_eq!(only_server(both.path(), &sockets), Some(12), "what the other has open was seen");
    }
}
