//! Where clients arrive.

use super::check;
use super::socket::{Endpoint, Socket};
use crate::address::Address;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: libc::c_int = 4096;

/// A listening socket; the file of a unix socket goes with it.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    path: Option<PathBuf>,
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Listener {
    /// Listens at an address; the file of a unix socket that nobody listens at any more is replaced.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let path = match address {
            Address::Unix(path) => Some(path.clone()),
            Address::Tcp { .. } => None,
        };
        if let Some(path) = &path {
            remove_stale(path)?;
        }
        let mut failed = io::Error::other("no address of that name");
        for endpoint in Endpoint::resolve(address)? {
            match Self::listen(&endpoint) {
                Ok(socket) => return Ok(Self { socket, path }),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn listen(endpoint: &Endpoint) -> io::Result<Socket> {
        let socket = endpoint.socket()?;
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        let address = (&raw const endpoint.storage).cast();
        // SAFETY: the address lives through the call and `length` bytes of it are initialised.
        check(unsafe { libc::bind(socket.as_raw_fd(), address, endpoint.length) })?;
        // SAFETY: a system call without pointers.
        check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
        Ok(socket)
    }

    /// Lets every user of the machine connect to a unix socket, whatever the umask, as a database server's own lets
    /// them: who may log in the server says. Who may come near the socket its folder says.
    pub fn open_to_all(&self) -> io::Result<()> {
        let all = fs::Permissions::from_mode(0o777);
        self.path.as_ref().map_or(Ok(()), |path| fs::set_permissions(path, all))
    }

    /// The port, where the system chose it.
    pub fn port(&self) -> Option<u16> {
        // SAFETY: all zeroes are a valid sockaddr_in6.
        let mut address: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
        let mut length = std::mem::size_of_val(&address) as libc::socklen_t;
        let pointer = (&raw mut address).cast();
        // SAFETY: both pointers are to variables of this function, of the size told.
        check(unsafe { libc::getsockname(self.as_raw_fd(), pointer, &raw mut length) }).ok()?;
        // Family and port stand at the same place in both kinds of address.
        let family = i32::from(address.sin6_family);
        [libc::AF_INET, libc::AF_INET6].contains(&family).then(|| u16::from_be(address.sin6_port))
    }

    /// The next client; `WouldBlock` where none waits.
    pub fn accept(&self) -> io::Result<Socket> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the address of the client is not asked for; the descriptor is owned by nobody else.
        let socket = unsafe {
            let fd = check(libc::accept4(self.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags))?;
            Socket(OwnedFd::from_raw_fd(fd))
        };
        if self.path.is_none() {
            socket.prompt()?;
        }
        Ok(socket)
    }

    /// Takes no more clients: they are refused at once instead of left waiting in the kernel.
    pub fn close(&self) {
        // SAFETY: a system call without pointers; on a socket that is closed already it does nothing.
        unsafe { libc::shutdown(self.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// Whether its clients are on this machine and nobody can read along.
    pub fn is_local(&self) -> bool {
        self.path.is_some()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Nothing can be done about a file that somebody else has removed or replaced.
            let _ = fs::remove_file(path);
        }
    }
}

fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    match is_socket && UnixStream::connect(path).is_err() {
        true => fs::remove_file(path),
        false => Ok(()),
    }
}
