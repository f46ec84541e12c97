//! A server that answers every command at once with the same row and keeps its own stamps: the benches
//! compare what the generator says with what the stub saw. Who asks for its version or its variables off the hot path, as
//! `evenkeel load` does before it begins, gets a version or a number, and is not in the stamps.
//!
//! `stub --socket PATH | --port N --log FILE --spin 1 --delay-us N --stay 1`. It ends when the last of its
//! connections closes, unless it is to stay, and then writes the log: for each execution two little-endian 64-bit instants on
//! CLOCK_MONOTONIC, when the command was received and when its answer was handed to the kernel.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]

use evenkeel_os::address::Address;
use evenkeel_os::clock::monotonic;
use evenkeel_os::{Listener, Socket};
use evenkeel_wire::packet;
use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

struct Connection {
    socket: Socket,
    input: Vec<u8>,
    logged_in: bool,
}

/// Whether all of it went into the socket.
fn says(socket: &Socket, bytes: &[u8]) -> bool {
    socket.send(bytes).is_ok_and(|sent| sent == bytes.len())
}

/// Packets numbered from `sequence` on.
fn packets(mut sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        packet::put(&mut out, &mut sequence, |out| out.extend_from_slice(payload));
    }
    out
}

fn definition() -> Vec<u8> {
    let mut payload = Vec::new();
    for name in ["def", "sbtest", "t", "t", "c", "c"] {
        payload.push(name.len() as u8);
        payload.extend_from_slice(name.as_bytes());
    }
    payload.extend_from_slice(&[12, 45, 0, 120, 0, 0, 0, 0xfe, 1, 0, 0, 0, 0]);
    payload
}

/// A row of one text.
fn text(value: &str) -> Vec<u8> {
    [&[value.len() as u8], value.as_bytes()].concat()
}

const VERSION: &str = "10.11.0-MariaDB-stub";
/// The value of every variable: a large packet, and connections enough.
const NUMBER: &str = "67108864";

fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a10.11.0-stub\0\x01\0\0\0abcdefgh\0".to_vec();
    // Protocol 4.1, transactions, secure connection, multiple results; plugins and new-style ends.
    payload.extend_from_slice(&[0x0d, 0xa2, 45, 2, 0, 0x0e, 0x01, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    packets(0, &[&payload])
}

struct Stub {
    listener: Listener,
    epoll: RawFd,
    connections: HashMap<RawFd, Connection>,
    answer: Vec<u8>,
    version: Vec<u8>,
    number: Vec<u8>,
    grants: Vec<u8>,
    prepared: Vec<u8>,
    stamps: Vec<[u64; 2]>,
    delay_ns: u64,
    /// Whether it goes on without a connection, and keeps no stamps, which would grow for ever.
    stays: bool,
}

impl Stub {
    fn new(listener: Listener, delay_ns: u64, stays: bool) -> io::Result<Self> {
        let row = [&[0, 0, 119][..], &[b'x'; 119]].concat();
        let definition = definition();
        // SAFETY: a system call without pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let stub = Self {
            answer: packets(1, &[&[1], &definition, &row, END]),
            version: packets(1, &[&[1], &definition, &text(VERSION), END]),
            number: packets(1, &[&[1], &definition, &text(NUMBER), END]),
            grants: packets(1, &[&[1], &definition, &text("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"), END]),
            prepared: packets(1, &[&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], &definition, &definition]),
            listener,
            epoll,
            connections: HashMap::new(),
            stamps: Vec::with_capacity(8 << 20),
            delay_ns,
            stays,
        };
        stub.watch(stub.listener.as_raw_fd())?;
        Ok(stub)
    }

    fn watch(&self, fd: RawFd) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
        // SAFETY: the event lives through the call.
        match unsafe { libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Until the last connection has come and gone.
    fn serve(&mut self, timeout: i32) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        let mut served = false;
        while self.stays || !served || !self.connections.is_empty() {
            // SAFETY: the events have room for 64.
            let ready = unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), 64, timeout) };
            for event in events.iter().take(usize::try_from(ready).unwrap_or(0)) {
                let fd = event.u64 as RawFd;
                if fd == self.listener.as_raw_fd() {
                    self.accept()?;
                } else if !self.read(fd) {
                    self.connections.remove(&fd);
                    served = !self.stamps.is_empty();
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        let socket = self.listener.accept()?;
        says(&socket, &greeting());
        let fd = socket.as_raw_fd();
        self.watch(fd)?;
        self.connections.insert(fd, Connection { socket, input: Vec::new(), logged_in: false });
        Ok(())
    }

    /// False when the connection is over.
    fn read(&mut self, fd: RawFd) -> bool {
        let Some(connection) = self.connections.get_mut(&fd) else { return true };
        let mut buffer = [0; 4096];
        let count = match connection.socket.receive(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => count,
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        };
        let received = monotonic().0;
        connection.input.extend_from_slice(&buffer[..count]);
        let length = match connection.input[..] {
            [a, b, c, _, ..] => 4 + u32::from_le_bytes([a, b, c, 0]) as usize,
            _ => return true,
        };
        if connection.input.len() < length {
            return true;
        }
        let command = connection.input.get(4).copied();
        let query = connection.input.get(5..).filter(|_| command == Some(COM_QUERY)).unwrap_or_default();
        let asks = query.starts_with(b"SELECT") || query.starts_with(b"SHOW");
        let told = match query {
            query if query.starts_with(b"SHOW GRANTS") => &self.grants,
            query if query.contains(&b'@') => &self.number,
            _ => &self.version,
        };
        connection.input.clear();
        if !connection.logged_in {
            connection.logged_in = true;
            return says(&connection.socket, &packets(2, &[OK]));
        }
        match command {
            Some(COM_QUIT) | None => false,
            Some(COM_STMT_PREPARE) => says(&connection.socket, &self.prepared),
            Some(COM_STMT_EXECUTE) => {
                while monotonic().0 < received + self.delay_ns {}
                let sent = monotonic().0;
                if !self.stays {
                    self.stamps.push([received, sent]);
                }
                says(&connection.socket, &self.answer)
            }
            Some(_) if asks => says(&connection.socket, told),
            Some(_) => says(&connection.socket, &packets(1, &[OK])),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| {
        let at = arguments.iter().position(|argument| argument.strip_prefix("--") == Some(name))?;
        arguments.get(at + 1).cloned()
    };
    let address = match (flag("socket"), flag("port")) {
        (Some(path), _) => Address::Unix(path.into()),
        (None, Some(port)) => Address::Tcp { host: "127.0.0.1".to_owned(), port: port.parse()? },
        (None, None) => return Err("--socket or --port is needed".into()),
    };
    let delay_us: u64 = flag("delay-us").map_or(Ok(0), |delay| delay.parse())?;
    let mut stub = Stub::new(Listener::bind(&address)?, delay_us * 1_000, flag("stay").is_some())?;
    println!("ready");
    // A stub that spins stamps without the delay of being woken; it has a core of its own then.
    stub.serve(if flag("spin").is_some() { 0 } else { -1 })?;
    if let Some(path) = flag("log") {
        let bytes: Vec<u8> = stub.stamps.iter().flatten().flat_map(|stamp| stamp.to_le_bytes()).collect();
        fs::write(path, bytes)?;
    }
    Ok(())
}
