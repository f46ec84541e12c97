//! The kernel is asked what it does with sockets whose other side is slow, dead or far away.

use super::*;
use crate::left_out::left_out;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::thread;
use std::time::Duration;

fn option(socket: &Socket, level: libc::c_int, name: libc::c_int) -> libc::c_int {
    let (mut value, mut length) = (0, 4);
    let pointer = (&raw mut value as *mut libc::c_int).cast();
    // SAFETY: both pointers are to variables of this function, of the size told.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, pointer, &raw mut length) }).unwrap();
    value
}

/// A connection over the loopback: our end, and the other.
fn pair() -> (Socket, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    client.set_nonblocking(true).unwrap();
    (Socket(client.into()), server)
}

fn keepalive(socket: &Socket) -> [libc::c_int; 4] {
    let tcp = |name| option(socket, libc::IPPROTO_TCP, name);
    [
        option(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE),
        tcp(libc::TCP_KEEPIDLE),
        tcp(libc::TCP_KEEPINTVL),
        tcp(libc::TCP_KEEPCNT),
    ]
}

#[test]
fn a_clients_machine_is_asked_after_a_minute_and_a_servers_as_often_as_its_silence_allows() {
    let (socket, _server) = pair();
    socket.prompt().unwrap();
    assert_eq!(keepalive(&socket), [1, 60, 10, 6]);
    assert_eq!(option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY), 1);
    for (silence, expected) in
        [(15, [1, 5, 2, 5]), (60, [1, 20, 8, 5]), (1, [1, 1, 1, 5]), (100_000, [1, 10_000, 4_000, 5])]
    {
        socket.watch(Nanos::from_secs(silence)).unwrap();
        assert_eq!(keepalive(&socket), expected, "{silence} s");
    }
    // A server that takes nothing for long, but lives, must not be cut off.
    assert_eq!(option(&socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT), 0);
}

#[test]
fn both_addresses_of_a_connection_are_known_and_a_unix_socket_has_none() {
    let (socket, server) = pair();
    assert_eq!(socket.peer(), Some(server.local_addr().unwrap()));
    assert_eq!(socket.local(), Some(server.peer_addr().unwrap()));
    match TcpListener::bind("[::1]:0") {
        Err(error) => left_out(format!("in part: no IPv6: {error}")),
        Ok(listener) => {
            let to = listener.local_addr().unwrap();
            let client = TcpStream::connect(to).unwrap();
            let (own, socket) = (client.local_addr().unwrap(), Socket(client.into()));
            assert_eq!((socket.peer(), socket.local()), (Some(to), Some(own)));
        }
    }
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let socket = Socket(one.into());
    assert_eq!((socket.peer(), socket.local()), (None, None));
    assert!(socket.watch(Nanos::from_secs(15)).is_ok() && !socket.is_lost(Nanos::ZERO));
}

#[test]
fn a_unix_socket_where_too_many_wait_would_block() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    // SAFETY: a system call without pointers.
    check(unsafe { libc::listen(listener.as_raw_fd(), 1) }).unwrap();
    let endpoint = Endpoint::unix(&path).unwrap();
    let mut connected: Vec<_> = (0..2).map(|_| Socket::connect(&endpoint).unwrap()).collect();
    let full = Socket::connect(&endpoint).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    let _accepted = listener.accept().unwrap();
    connected.push(Socket::connect(&endpoint).unwrap());
}

/// Runs a test in a network of its own, whose loopback it may take down. Where the system does not allow that it
/// says so.
fn in_a_network_of_its_own(test: impl FnOnce() + Send + 'static) {
    let run = move || {
        // SAFETY: a system call without pointers; it changes this thread alone, which ends with the test.
        if let Err(error) = check(unsafe { libc::unshare(libc::CLONE_NEWNET) }) {
            return left_out(format!("no network namespace: {error}"));
        }
        match Command::new("ip").args(["link", "set", "lo", "up"]).status() {
            Ok(status) if status.success() => test(),
            other => left_out(format!("ip link: {other:?}")),
        }
    };
    // Threads of tests have the names of their tests, and so has this one.
    let name = thread::current().name().unwrap_or("a test").to_owned();
    thread::Builder::new().name(name).spawn(run).unwrap().join().unwrap();
}

/// The other machine is gone, and nobody says so.
fn vanish() {
    assert!(Command::new("ip").args(["link", "set", "lo", "down"]).status().unwrap().success());
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    for _ in 0..600 {
        if is() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("no {what} within a minute");
}

const SILENCE: Nanos = Nanos::from_secs(2);

/// As long as a machine must be silent, and some more.
fn wait_for_longer_than_silence() {
    thread::sleep(Duration::from_secs(7));
}

#[test]
fn a_machine_that_vanishes_is_found_while_nothing_is_on_its_way() {
    in_a_network_of_its_own(|| {
        let (socket, _server) = pair();
        socket.prompt().unwrap();
        socket.watch(SILENCE).unwrap();
        wait_for_longer_than_silence();
        assert!(!socket.is_lost(SILENCE), "it lives and has nothing to say");
        assert_eq!(socket.receive(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        vanish();
        eventually("end of the connection", || {
            socket.receive(&mut [0; 8]).is_err_and(|error| error.kind() == io::ErrorKind::TimedOut)
        });
    });
}

#[test]
fn a_machine_that_vanishes_is_found_while_a_command_is_on_its_way_or_behind_its_closed_window() {
    for full in [false, true] {
        in_a_network_of_its_own(move || {
            let (socket, _server) = pair();
            socket.prompt().unwrap();
            socket.watch(SILENCE).unwrap();
            while full && socket.send(&[0; 65_536]).is_ok() {}
            vanish();
            assert_eq!(socket.send(b"a command").is_ok(), !full);
            eventually("lost machine", || socket.is_lost(SILENCE));
        });
    }
}

#[test]
fn a_machine_that_lives_and_reads_nothing_for_long_is_not_lost() {
    let (socket, _server) = pair();
    socket.prompt().unwrap();
    socket.watch(SILENCE).unwrap();
    while socket.send(&[0; 65_536]).is_ok() {}
    for _ in 0..80 {
        thread::sleep(Duration::from_millis(100));
        assert!(!socket.is_lost(SILENCE) && socket.connected().is_ok());
    }
}
