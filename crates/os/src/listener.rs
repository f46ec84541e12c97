//! A listener is where clients arrive, at a TCP port or a unix socket.

use super::socket::{Endpoint, Socket};
use super::{Access, check, try_lock};
use crate::address::Address;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::thread;
use std::time::Duration;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: libc::c_int = 4096;

/// How often, and after which pause, a folder is asked for that somebody else has locked.
const TURNS: u32 = 50;
const TURN_PAUSE: Duration = Duration::from_millis(10);

/// A listening socket; the file of a unix socket goes with it.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    file: Option<SocketFile>,
}

/// The file of a unix socket, and which one it was when it was made: a successor may have put its own in its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Removes it, if it is still this one.
    fn remove(&self) {
        // Guards take turns, so that none of them can put its own file there between the look and the removal.
        let _turn = Turn::take(&self.path);
        if self.identity.is_some() && self.identity == identity(&self.path) {
            // Nothing can be done about a file that cannot be removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Device and inode of what lies at a path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// A turn at the folder of a socket's file: a lock on the folder itself, which leaves no file behind and ends with its
/// process.
struct Turn {
    _folder: Option<File>,
}

impl Turn {
    /// Waits for its turn, but not for ever: anybody who may read the folder could keep it locked. Then, or where the
    /// file system has no locks, it goes on without, and only guards that start and end in the same instant can meet.
    fn take(path: &Path) -> Self {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let Ok(folder) = File::open(folder) else { return Self { _folder: None } };
        for _ in 0..TURNS {
            match try_lock(folder.as_fd()) {
                Ok(true) => return Self { _folder: Some(folder) },
                Ok(false) => thread::sleep(TURN_PAUSE),
                Err(_) => break,
            }
        }
        Self { _folder: None }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Listener {
    /// Listens at an address; the file of a unix socket that nobody listens at any more is replaced.
    pub fn bind(address: &Address) -> io::Result<Self> {
        Self::bind_for(address, Access::default())
    }

    /// As [`Listener::bind`]; the file of a unix socket lets these connect and nobody else before.
    pub fn bind_for(address: &Address, access: Access) -> io::Result<Self> {
        match address {
            Address::Unix(path) => Self::bind_file(path, access),
            Address::Tcp { .. } => Self::listen_at(address, None).map(|socket| Self { socket, file: None }),
        }
    }

    fn bind_file(path: &Path, access: Access) -> io::Result<Self> {
        // Of two guards that start at once the second would otherwise take the first one's new socket for a stale one:
        // it is there before it listens.
        let _turn = Turn::take(path);
        remove_stale(path)?;
        let socket = Self::listen_at(&Address::Unix(path.to_owned()), Some((path, access)))?;
        Ok(Self { socket, file: Some(SocketFile::new(path)) })
    }

    fn listen_at(address: &Address, file: Option<(&Path, Access)>) -> io::Result<Socket> {
        let mut failed = io::Error::other("no address of that name");
        for endpoint in Endpoint::resolve(address)? {
            match Self::listen(&endpoint, file) {
                Ok(socket) => return Ok(socket),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn listen(endpoint: &Endpoint, file: Option<(&Path, Access)>) -> io::Result<Socket> {
        let socket = endpoint.socket()?;
        if let Some((_, access)) = file {
            access.close(&socket)?;
        }
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        let address = (&raw const endpoint.storage).cast();
        // SAFETY: the address lives through the call and `length` bytes of it are initialised.
        check(unsafe { libc::bind(socket.as_raw_fd(), address, endpoint.length) })?;
        if let Some((path, access)) = file {
            access.open(path).inspect_err(|_| drop(fs::remove_file(path)))?;
        }
        // SAFETY: a system call without pointers.
        check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
        Ok(socket)
    }

    /// Lets every user of the machine connect to a unix socket, whatever the umask, as a database server's own lets
    /// them: who may log in the server says. Who may come near the socket its folder says.
    pub fn open_to_all(&self) -> io::Result<()> {
        let all = fs::Permissions::from_mode(0o777);
        self.file.as_ref().map_or(Ok(()), |file| fs::set_permissions(&file.path, all))
    }

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
        if self.file.is_none() {
            socket.prompt()?;
        }
        Ok(socket)
    }

    pub fn close(&self) {
        // SAFETY: a system call without pointers; on a socket that is closed already it does nothing.
        unsafe { libc::shutdown(self.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// Whether its clients are on this machine and nobody can read along.
    pub fn is_local(&self) -> bool {
        self.file.is_some()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            file.remove();
        }
    }
}

/// Removes the file of a socket where nobody listens any more. One whose queue is full, or that this user may not
/// connect to, is somebody's.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let refused = |endpoint: &Endpoint| {
        Socket::connect(endpoint).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    let endpoints = Endpoint::resolve(&Address::Unix(path.to_owned()))?;
    if is_socket && endpoints.iter().all(refused) { fs::remove_file(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
