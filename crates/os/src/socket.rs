//! These stream sockets never wait: whoever uses them waits for all of them at once, by a poller.

use super::{check, direct};
use crate::address::Address;
use evenkeel_core::Nanos;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::{self, ManuallyDrop};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// No address, and no room for one.
const NOWHERE: *const libc::c_void = std::ptr::null();
/// Most parts that are sent or received at once.
pub const PARTS: usize = 128;

/// When the other machine of a client is asked whether it is there, how often, and how many times without an answer.
const CLIENT_ALIVE: Alive = Alive { idle: 60, interval: 10, count: 6 };
/// Questions that a server's machine leaves unanswered before it counts as gone.
const QUESTIONS: libc::c_int = 5;
/// Time for an answer to what was sent last, in milliseconds: far above that of any way between a guard and its server.
const ANSWER_MS: u32 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alive {
    idle: libc::c_int,
    interval: libc::c_int,
    count: libc::c_int,
}

impl Alive {
    /// One that finds out in about so much time; the kernel counts whole seconds.
    fn within(silence: Nanos) -> Self {
        // Above this a server's machine would be found gone by nobody; the kernel itself ends at 32,767 s.
        let seconds = silence.as_secs_f64().clamp(2.0, 30_000.0);
        let interval = ((seconds * 2.0 / 3.0 / f64::from(QUESTIONS)).floor() as libc::c_int).max(1);
        let idle = (seconds.ceil() as libc::c_int - interval * QUESTIONS).max(1);
        Self { idle, interval, count: QUESTIONS }
    }
}

/// A socket address in the form the kernel takes.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) length: libc::socklen_t,
    /// The address as text: two endpoints are the same where it is.
    pub label: Arc<str>,
}

impl Endpoint {
    /// All addresses behind a name, in the order of preference.
    pub fn resolve(address: &Address) -> io::Result<Vec<Self>> {
        match address {
            Address::Unix(path) => Self::unix(path).map(|endpoint| vec![endpoint]),
            Address::Tcp { host, port } => {
                let found: Vec<_> = (host.as_str(), *port).to_socket_addrs()?.map(Self::tcp).collect();
                if found.is_empty() { Err(io::Error::other("no address of that name")) } else { Ok(found) }
            }
        }
    }

    fn of<T>(address: T, label: &str) -> Self {
        assert!(mem::size_of::<T>() <= mem::size_of::<libc::sockaddr_storage>());
        // SAFETY: all zeroes are a valid sockaddr_storage; it is larger than any address and aligned for it.
        let storage = unsafe {
            let mut storage: libc::sockaddr_storage = mem::zeroed();
            (&raw mut storage).cast::<T>().write(address);
            storage
        };
        Self { storage, length: mem::size_of::<T>() as libc::socklen_t, label: label.into() }
    }

    fn tcp(address: SocketAddr) -> Self {
        let label = address.to_string();
        match address {
            SocketAddr::V4(v4) => {
                let address = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                Self::of(address, &label)
            }
            SocketAddr::V6(v6) => {
                let address = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                Self::of(address, &label)
            }
        }
    }

    fn unix(path: &Path) -> io::Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        let mut address =
            libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
        if bytes.len() >= address.sun_path.len() {
            return Err(io::Error::other("path of a socket above 107 bytes"));
        }
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        Ok(Self::of(address, &path.to_string_lossy()))
    }

    pub(super) fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }

    /// A new socket of this family.
    pub(super) fn socket(&self) -> io::Result<Socket> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a system call without pointers; the descriptor it gives is owned by nobody else.
        unsafe { Ok(Socket(OwnedFd::from_raw_fd(check(libc::socket(self.family(), kind, 0))?))) }
    }
}

#[derive(Debug)]
pub struct Socket(pub(super) OwnedFd);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// The socket as what rustls reads from and writes to.
impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Self::receive(self, buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::send(self, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// Starts to connect; a unix socket is connected at once.
    ///
    /// `WouldBlock` comes from unix sockets alone: so many connections wait to be accepted there already that no more
    /// fit. A program that connects by itself would be put to sleep until one does. The kernel tells nobody when, so
    /// it has to be tried again a little later.
    pub fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        let socket = endpoint.socket()?;
        if endpoint.family() != libc::AF_UNIX {
            socket.prompt()?;
        }
        socket.reach(endpoint)?;
        Ok(socket)
    }

    /// As [`Socket::connect`], and whether it is connected already; it sends at once what is sent, and never asks whether the other
    /// machine is there.
    pub fn dial(endpoint: &Endpoint) -> io::Result<(Self, bool)> {
        let socket = endpoint.socket()?;
        if endpoint.family() != libc::AF_UNIX {
            socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        let connected = socket.reach(endpoint)?;
        Ok((socket, connected))
    }

    fn reach(&self, endpoint: &Endpoint) -> io::Result<bool> {
        let address = (&raw const endpoint.storage).cast();
        // SAFETY: the address lives through the call and `length` bytes of it are initialised.
        match check(unsafe { libc::connect(self.as_raw_fd(), address, endpoint.length) }) {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn unconnected(endpoint: &Endpoint) -> io::Result<Self> {
        endpoint.socket()
    }

    /// Sends at once what is sent, and finds out within two minutes when an idle client's machine is gone.
    pub fn prompt(&self) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        self.keep_alive(CLIENT_ALIVE)
    }

    /// Finds out in about this time, and not below six seconds, when the other machine is gone, while nothing is on its way there: on an idle
    /// connection, or one that waits for an answer, however long that takes on a machine that lives. For the rest
    /// there is [`Socket::is_lost`]. A unix socket has no other machine.
    ///
    /// TCP_USER_TIMEOUT, which would cover the rest, is not set on purpose: it also ends connections to machines that
    /// live and take nothing for so long, as a server does in the middle of LOAD DATA while it waits for a lock.
    pub fn watch(&self, silence: Nanos) -> io::Result<()> {
        match self.peer() {
            Some(_) => self.keep_alive(Alive::within(silence)),
            None => Ok(()),
        }
    }

    fn keep_alive(&self, alive: Alive) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, alive.idle)?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, alive.interval)?;
        self.set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, alive.count)?;
        self.set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)
    }

    /// Whether nothing was heard of the other machine for this time although it owes an answer: to what was sent, or
    /// to the kernel's questions whether it is there. One that lives owes none for long, also when its program reads
    /// nothing and its window is closed. To be asked now and then on sockets under [`Socket::watch`], where something
    /// is due: what was sent into the void the kernel itself would repeat for a quarter of an hour.
    pub fn is_lost(&self, silence: Nanos) -> bool {
        // SAFETY: all zeroes are a valid tcp_info.
        let mut info: libc::tcp_info = unsafe { mem::zeroed() };
        let mut length = mem::size_of_val(&info) as libc::socklen_t;
        let pointer = (&raw mut info).cast();
        // SAFETY: both pointers are to variables of this function, of the size told.
        let told = check(unsafe {
            libc::getsockopt(self.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &raw mut length)
        });
        // Other kinds of sockets have no such option, and no other machine.
        told.is_ok() && Nanos::from_millis(u64::from(info.tcpi_last_ack_recv)) >= silence && owes(&info)
    }

    /// The address of the other side, where it is one of TCP.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.of_std().peer_addr().ok()
    }

    /// The address of this side, where it is one of TCP.
    pub fn local(&self) -> Option<SocketAddr> {
        self.of_std().local_addr().ok()
    }

    /// The same for std, which has no address of a unix socket.
    fn of_std(&self) -> ManuallyDrop<TcpStream> {
        // SAFETY: the descriptor is open for as long as `self` is borrowed, and what is made of it here does not close it.
        ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(self.as_raw_fd()) })
    }

    pub(super) fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        set_option(self, level, name, value)
    }

    /// To be called once the socket is connected or has failed to: says which.
    pub fn connected(&self) -> io::Result<()> {
        self.of_std().take_error()?.map_or(Ok(()), Err)
    }

    /// Sends what fits; `WouldBlock` where nothing does.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let (pointer, flags) = (bytes.as_ptr().cast::<libc::c_void>(), libc::MSG_NOSIGNAL);
        // SAFETY: the pointer and the length are those of a slice; there is no address behind them.
        let sent = unsafe { direct!(SYS_sendto, self.as_raw_fd(), pointer, bytes.len(), flags, NOWHERE, 0) };
        transferred(sent as libc::ssize_t)
    }

    /// Receives what is there; `WouldBlock` where nothing is, 0 at the end.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let pointer = buffer.as_mut_ptr().cast::<libc::c_void>();
        // SAFETY: the pointer and the length are those of a mutable slice; the address is not asked for.
        let received =
            unsafe { direct!(SYS_recvfrom, self.as_raw_fd(), pointer, buffer.len(), 0, NOWHERE, NOWHERE) };
        transferred(received as libc::ssize_t)
    }

    /// Sends what fits of several parts, at most [`PARTS`]; `WouldBlock` where nothing does.
    pub fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let message = message(parts.as_ptr().cast_mut().cast(), parts.len().min(PARTS));
        // SAFETY: the message and the parts live through the call, which only reads them; an IoSlice is an iovec.
        transferred(unsafe { libc::sendmsg(self.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
    }

    /// Receives what is there, one part after the other; `WouldBlock` where nothing is, 0 at the end.
    pub fn receive_parts(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut message = message(parts.as_mut_ptr().cast(), parts.len().min(PARTS));
        // SAFETY: the message and the mutable slices live through the call; an IoSliceMut is an iovec.
        transferred(unsafe { libc::recvmsg(self.as_raw_fd(), &raw mut message, 0) })
    }

    /// Asks for room for so many bytes on their way to the other side; the system gives as much as it allows.
    pub fn set_room(&self, bytes: usize) {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        // With less room it is only slower.
        let _ = self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, bytes);
    }

    /// Tells the other side that nothing more is sent.
    pub fn end(&self) {
        // SAFETY: a system call without pointers. A socket that is not connected any more needs no end.
        unsafe { libc::shutdown(self.as_raw_fd(), libc::SHUT_WR) };
    }
}

pub(super) fn set_option(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = mem::size_of_val(&value) as libc::socklen_t;
    let value = (&raw const value).cast();
    // SAFETY: the value lives through the call and has the length told.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, length) }).map(|_| ())
}

/// Whether something was sent after the other machine was heard last, and not just now. Of questions without data, as
/// keepalive's, the kernel counts those since then.
fn owes(info: &libc::tcp_info) -> bool {
    let sent = ANSWER_MS..info.tcpi_last_ack_recv;
    let data = info.tcpi_unacked > 0 && sent.contains(&info.tcpi_last_data_sent);
    data || info.tcpi_probes >= 2
}

/// A message of parts alone.
pub(super) fn message(parts: *mut libc::iovec, count: usize) -> libc::msghdr {
    // SAFETY: all zeroes are a valid msghdr: no address, no control data.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (parts, count);
    message
}

fn transferred(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests;
