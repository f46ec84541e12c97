//! Whole files are read without waiting for anybody, and written without losing what was there.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Reads a file of at most so many bytes.
/// Errors: it cannot be read, is larger, or is a pipe or a device, from which one could read for ever.
pub fn read_whole(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Looked at before it is opened, because some devices do something when they are; and after it, because what has this name
    // may have become another one.
    let is_regular = |about: fs::Metadata| if about.is_file() { Ok(()) } else { Err(no_file()) };
    is_regular(fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    is_regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

fn no_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is not a file but a folder, a pipe or a device")
}

/// Opens a file for writing that is made where it is missing; its contents stay. Behind a symbolic link is somebody else's
/// file, and none is opened.
/// Errors: it cannot be opened, or is a symbolic link.
pub fn open_own(path: &Path) -> io::Result<File> {
    let options = &mut OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

/// Writes a file beside and renames it: a reader sees the old one or the new one, and the old one stays where the new one does not
/// fit. What has this name is replaced, also a symbolic link.
/// Errors: it cannot be written; nothing is left of it then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    let replaced = write_new(&beside, bytes, path).and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        // What cannot be removed has a name that says what it was.
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// A name that is short enough whatever the file's own is.
fn beside(path: &Path) -> io::Result<PathBuf> {
    path.file_name().ok_or(ErrorKind::IsADirectory)?;
    Ok(path.with_file_name(OsString::from(format!(".evenkeel-{}.new", std::process::id()))))
}

fn write_new(beside: &Path, bytes: &[u8], like: &Path) -> io::Result<()> {
    // One of an earlier process of this number, which was killed.
    let _ = fs::remove_file(beside);
    let mut file = OpenOptions::new().write(true).create_new(true).open(beside)?;
    if let Some(old) = fs::symlink_metadata(like).ok().filter(fs::Metadata::is_file) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    // A disk that is full may say so only now.
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_pipe_a_device_and_a_folder_are_refused_and_nobody_waits_for_them() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("pipe");
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a string of C that lives through the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [pipe.as_path(), Path::new("/dev/zero"), home.path()] {
            assert_eq!(
                read_whole(path, 10).unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn a_file_is_read_as_long_as_it_is_not_too_large() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_whole(&path, 5).unwrap(), b"12345");
        assert_eq!(read_whole(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_behind_a_symbolic_link_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let (victim, link) = (home.path().join("victim"), home.path().join("link"));
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, &link).unwrap();
        assert!(open_own(&link).is_err());
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
    }

    #[test]
    fn an_older_file_stays_where_the_new_one_cannot_be_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("report.html");
        fs::write(&path, "old").unwrap();
        // A folder of that name, which cannot be removed as a file is.
        fs::create_dir(beside(&path).unwrap()).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_file_that_is_replaced_keeps_who_may_read_it_and_leaves_nothing_beside() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("report.html");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert!(replace(home.path(), b"new").is_err(), "a folder is no file");
    }
}
