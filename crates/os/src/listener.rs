//! A listener is where clients arrive, at a TCP port or a unix socket, whose mode and group decide who may connect.

use super::check;
use super::socket::{Endpoint, Socket};
use crate::address::Address;
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::ptr;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: libc::c_int = 4096;

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
        let all = Permissions::from_mode(0o777);
        self.file.as_ref().map_or(Ok(()), |file| fs::set_permissions(&file.path, all))
    }

    pub fn port(&self) -> Option<u16> {
        self.socket.local().map(|address| address.port())
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

/// The mode of a socket with a group, where nobody says another.
const GROUP_MODE: u32 = 0o660;
/// Room for the entry of a group, whose members stand in it.
const ENTRY_BYTES: usize = 1 << 20;

/// What the file of a unix socket is like. Where nobody says, as the umask has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Its mode, as 0o660.
    pub mode: Option<u32>,
    /// Number of its group.
    pub group: Option<u32>,
}

impl Access {
    fn mode(self) -> Option<u32> {
        self.mode.or(self.group.map(|_| GROUP_MODE))
    }

    /// Before the socket has a name: nobody but its owner, until it has its group and its mode.
    fn close(self, socket: &impl AsRawFd) -> io::Result<()> {
        match self.mode() {
            // SAFETY: a system call without pointers.
            Some(_) => check(unsafe { libc::fchmod(socket.as_raw_fd(), 0o600) }).map(drop),
            None => Ok(()),
        }
    }

    /// Once it has one.
    fn open(self, path: &Path) -> io::Result<()> {
        if let Some(group) = self.group {
            chown(path, None, Some(group))?;
        }
        self.mode().map_or(Ok(()), |mode| fs::set_permissions(path, Permissions::from_mode(mode)))
    }
}

/// The number of a group of this name; a number is taken as it is.
pub fn group_id(name: &str) -> io::Result<u32> {
    if let Ok(number) = name.parse() {
        // To chown(2) it says that the group stays as it is.
        let is_none = number == libc::gid_t::MAX;
        return if is_none { Err(io::Error::other("this number is not a group")) } else { Ok(number) };
    }
    let text = CString::new(name)?;
    // SAFETY: all zeroes are a valid group; pointers of it are not followed.
    let mut group: libc::group = unsafe { mem::zeroed() };
    let mut room = vec![0; ENTRY_BYTES];
    let mut found = ptr::null_mut();
    // SAFETY: the name is a string of C; the group, the room of that size and the result are variables of this function.
    let failed = unsafe {
        libc::getgrnam_r(text.as_ptr(), &raw mut group, room.as_mut_ptr(), room.len(), &raw mut found)
    };
    match failed {
        0 if found.is_null() => Err(io::Error::new(io::ErrorKind::NotFound, "there is no such group")),
        0 => Ok(group.gr_gid),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn at(path: &Path) -> io::Result<Listener> {
        Listener::bind(&Address::Unix(path.to_owned()))
    }

    #[test]
    fn the_file_of_a_socket_goes_with_its_listener_and_a_successors_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("guard.sock");
        let first = at(&path).unwrap();
        assert!(at(&path).is_err(), "somebody listens there");
        // By another file under the same name, as a successor does that must not leave clients without a socket.
        let next = home.path().join("next.sock");
        let second = UnixListener::bind(&next).unwrap();
        fs::rename(&next, &path).unwrap();
        drop(first);
        assert!(UnixStream::connect(&path).is_ok(), "the successor's file is there");
        drop(second);
        // By removing the old one and binding anew.
        let third = at(&path).expect("nobody listens at the second one's file any more");
        fs::remove_file(&path).unwrap();
        let fourth = at(&path).unwrap();
        drop(third);
        assert!(UnixStream::connect(&path).is_ok());
        drop(fourth);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_has_the_mode_and_the_group_that_it_is_given() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("disk.sock");
        let own = super::super::user().1;
        for (access, mode) in [
            (Access { mode: Some(0o600), group: None }, 0o600),
            (Access { mode: Some(0o666), group: None }, 0o666),
            (Access { mode: None, group: Some(own) }, 0o660),
        ] {
            let _listener = Listener::bind_for(&Address::Unix(path.clone()), access).unwrap();
            let found = fs::metadata(&path).unwrap();
            assert_eq!((found.mode() & 0o777, found.gid()), (mode, own));
        }
    }

    #[test]
    fn what_is_no_socket_is_not_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("guard.sock");
        fs::write(&path, "of value").unwrap();
        assert!(at(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "of value");
    }

    #[test]
    fn groups_have_numbers_and_unknown_ones_are_told() {
        assert_eq!(group_id("root").unwrap(), 0);
        assert_eq!(group_id("107").unwrap(), 107);
        assert!(group_id("4294967295").is_err(), "chown takes it for no group at all");
        assert_eq!(group_id("no such group").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
