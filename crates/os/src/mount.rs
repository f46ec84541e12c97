//! File systems that were mounted can be taken down again.

use super::check;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Takes a file system down; one that is in use only when the last user has gone (`lazy`), not shown any more from now.
pub fn unmount(at: &Path, lazy: bool) -> io::Result<()> {
    let path = CString::new(at.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = libc::UMOUNT_NOFOLLOW | if lazy { libc::MNT_DETACH } else { 0 };
    // SAFETY: the path is a string of C that lives through the call.
    check(unsafe { libc::umount2(path.as_ptr(), flags) }).map(|_| ())
}
