//! Mode and group of a unix socket decide who may connect to it.

use super::check;
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

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
    pub(super) fn close(self, socket: &impl AsRawFd) -> io::Result<()> {
        match self.mode() {
            // SAFETY: a system call without pointers.
            Some(_) => check(unsafe { libc::fchmod(socket.as_raw_fd(), 0o600) }).map(drop),
            None => Ok(()),
        }
    }

    /// Once it has one.
    pub(super) fn open(self, path: &Path) -> io::Result<()> {
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
    let mut found = std::ptr::null_mut();
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

    #[test]
    fn groups_have_numbers_and_unknown_ones_are_told() {
        assert_eq!(group_id("root").unwrap(), 0);
        assert_eq!(group_id("107").unwrap(), 107);
        assert!(group_id("4294967295").is_err(), "chown takes it for no group at all");
        assert_eq!(group_id("no such group").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
