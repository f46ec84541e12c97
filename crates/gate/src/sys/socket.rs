//! Stream sockets without waiting.

use super::check;
use crate::address::Address;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Most parts that are sent or received at once.
pub const PARTS: usize = 128;

/// A socket address in the form the kernel takes.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) length: libc::socklen_t,
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

    fn of<T>(address: T) -> Self {
        assert!(mem::size_of::<T>() <= mem::size_of::<libc::sockaddr_storage>());
        // SAFETY: all zeroes are a valid sockaddr_storage; it is larger than any address and aligned for it.
        let storage = unsafe {
            let mut storage: libc::sockaddr_storage = mem::zeroed();
            (&raw mut storage).cast::<T>().write(address);
            storage
        };
        Self { storage, length: mem::size_of::<T>() as libc::socklen_t }
    }

    fn tcp(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
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
        Ok(Self::of(address))
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

/// A connected or connecting stream socket.
#[derive(Debug)]
pub struct Socket(pub(super) OwnedFd);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Socket {
    /// Starts to connect; a unix socket is connected at once.
    pub fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        let socket = endpoint.socket()?;
        if endpoint.family() != libc::AF_UNIX {
            socket.prompt()?;
        }
        let address = (&raw const endpoint.storage).cast();
        // SAFETY: the address lives through the call and `length` bytes of it are initialised.
        match check(unsafe { libc::connect(socket.as_raw_fd(), address, endpoint.length) }) {
            Ok(_) => Ok(socket),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    }

    /// One that is connected to nobody.
    pub fn unconnected(endpoint: &Endpoint) -> io::Result<Self> {
        endpoint.socket()
    }

    /// Sends at once what is sent, and finds out when the other machine is gone.
    pub fn prompt(&self) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        self.set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)
    }

    pub(super) fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = mem::size_of_val(&value) as libc::socklen_t;
        let value = (&raw const value).cast();
        // SAFETY: the value lives through the call and has the length told.
        check(unsafe { libc::setsockopt(self.as_raw_fd(), level, name, value, length) }).map(|_| ())
    }

    /// To be called once the socket is connected or has failed to: says which.
    pub fn connected(&self) -> io::Result<()> {
        let (mut error, mut length) = (0_i32, mem::size_of::<i32>() as libc::socklen_t);
        let value = (&raw mut error).cast();
        // SAFETY: both pointers are to variables of this function, of the size told.
        check(unsafe {
            libc::getsockopt(self.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut length)
        })?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    /// Sends what fits; `WouldBlock` where nothing does.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let (pointer, flags) = (bytes.as_ptr().cast(), libc::MSG_NOSIGNAL);
        // SAFETY: the pointer and the length are those of a slice.
        transferred(unsafe { libc::send(self.as_raw_fd(), pointer, bytes.len(), flags) })
    }

    /// Receives what is there; `WouldBlock` where nothing is, 0 at the end.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of a mutable slice.
        transferred(unsafe { libc::recv(self.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) })
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

/// A message of parts alone.
fn message(parts: *mut libc::iovec, count: usize) -> libc::msghdr {
    // SAFETY: all zeroes are a valid msghdr: no address, no control data.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (parts, count);
    message
}

fn transferred(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
