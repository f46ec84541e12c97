//! A file system is asked how much room it has left, and whether it is one of control groups.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that this user can still write to the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
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

/// Whether a folder is one of control groups, and not what was mounted over them: there files can be written as well, and limit
/// nothing.
pub fn is_control_groups(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: statfs is plain numbers, for which zero is a value; the path ends in a zero byte.
    let kind = unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        (libc::statfs(path.as_ptr(), &raw mut found) == 0).then_some(found.f_type)
    };
    kind == Some(libc::CGROUP_SUPER_MAGIC) || kind == Some(libc::CGROUP2_SUPER_MAGIC)
}
