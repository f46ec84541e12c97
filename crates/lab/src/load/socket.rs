//! Stream sockets without waiting: the system calls of the hot path.

use super::error::LoadError;
use evenkeel_site::server::Address;
use std::io;
use std::mem;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A socket address in the form the kernel takes.
#[derive(Clone)]
pub(super) struct Endpoint {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Endpoint {
    /// All addresses of the target, in the order of preference.
    pub fn resolve(address: &Address) -> Result<Vec<Self>, LoadError> {
        match address {
            Address::Unix(path) => Self::unix(path)
                .map(|endpoint| vec![endpoint])
                .ok_or_else(|| LoadError::SocketPath(path.clone())),
            Address::Tcp { host, port } => {
                let failed = |source| LoadError::Resolve { host: host.clone(), source };
                let found: Vec<_> =
                    (host.as_str(), *port).to_socket_addrs().map_err(failed)?.map(Self::tcp).collect();
                match found.is_empty() {
                    true => Err(failed(io::Error::other("no address"))),
                    false => Ok(found),
                }
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

    fn unix(path: &Path) -> Option<Self> {
        let bytes = path.as_os_str().as_bytes();
        let mut address =
            libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
        if bytes.len() >= address.sun_path.len() {
            return None;
        }
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        Some(Self::of(address))
    }

    fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }
}

/// A connected or connecting stream socket.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Socket {
    /// Starts to connect; true where it is connected already.
    pub fn connect(endpoint: &Endpoint) -> io::Result<(Self, bool)> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a system call without pointers; the descriptor it gives is owned by nobody else.
        let socket = unsafe {
            let fd = check(libc::socket(endpoint.family(), kind, 0))?;
            Self(OwnedFd::from_raw_fd(fd))
        };
        if endpoint.family() != libc::AF_UNIX {
            socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32)?;
        }
        let address = (&raw const endpoint.storage).cast();
        // SAFETY: the address lives through the call and `length` bytes of it are initialised.
        match check(unsafe { libc::connect(socket.as_raw_fd(), address, endpoint.length) }) {
            Ok(_) => Ok((socket, true)),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((socket, false)),
            Err(error) => Err(error),
        }
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

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let length = mem::size_of::<T>() as libc::socklen_t;
        let value = (value as *const T).cast();
        // SAFETY: the value lives through the call and has the length told.
        check(unsafe { libc::setsockopt(self.as_raw_fd(), level, name, value, length) }).map(|_| ())
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
}

pub(super) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn transferred(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
