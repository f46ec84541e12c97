//! Room on a file system.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that this user can still write to the file system of `path`.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: statvfs is plain numbers, for which zero is a value; the path ends in a zero byte.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(path.as_ptr(), &mut found) {
            0 => Ok(found.f_bavail.saturating_mul(found.f_frsize)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
