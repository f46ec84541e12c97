//! A file system of one file: a disk for programs that know files, and for loop devices.
//!
//! The kernel hands over requests to a thread of this front, which hands them to the engine and takes the next one; the
//! engine answers them. So nothing but the engine's window bounds how many are under way, up to what the kernel allows in
//! the background.

mod files;

use crate::Handle;
pub use files::FuseDisk;
use files::OneFile;
use fuser::{BackgroundSession, Config, MountOption};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file system that is mounted; it is taken down when this is dropped, or when the last user of the file has gone.
pub struct FuseFront {
    session: Option<BackgroundSession>,
    at: PathBuf,
    name: String,
    /// It is not shown any more.
    detached: bool,
}

impl FuseFront {
    /// Shows a disk as a file in an empty folder.
    pub fn mount(handle: Handle, disk: FuseDisk, at: &Path) -> Result<Self, FuseError> {
        if disk.name.is_empty()
            || disk.name.len() > 255
            || disk.name.contains(['/', '\0'])
            || disk.name.starts_with('.')
        {
            return Err(FuseError::Name(disk.name));
        }
        let at = look(at)?;
        let name = disk.name.clone();
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("evenkeel".to_owned()),
            MountOption::Subtype("evenkeel".to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoExec,
            if disk.read_only { MountOption::RO } else { MountOption::RW },
        ];
        let session = fuser::spawn_mount2(OneFile::new(handle, disk), &at, &config);
        let session = session.map_err(|error| refused(&at, error))?;
        Ok(Self { session: Some(session), at, name, detached: false })
    }

    /// The file that stands for the disk, in the folder of the mount.
    pub fn file(&self) -> PathBuf {
        self.at.join(&self.name)
    }

    /// Hides it from everybody who has not opened the file yet, at once. It goes with the last one who has, also when this
    /// process is killed: nothing is left that has to be unmounted.
    pub fn detach(&mut self) -> Result<(), FuseError> {
        evenkeel_os::unmount(&self.at, true).map_err(|error| self.failed(error))?;
        self.detached = true;
        Ok(())
    }

    /// Whether only those who have the file open still see it.
    pub fn is_hidden(&self) -> bool {
        self.detached
    }

    pub fn has_ended(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Takes it down; it stays where somebody has the file open.
    pub fn unmount(&mut self) -> Result<(), FuseError> {
        let down = if self.detached { Ok(()) } else { evenkeel_os::unmount(&self.at, false) };
        // Whoever has mounted by fusermount3 unmounts by it.
        let by_program = down.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        match down {
            // Somebody else has taken it down.
            Err(error) if !by_program && error.raw_os_error() != Some(libc::EINVAL) => {
                return Err(self.failed(error));
            }
            _ => {}
        }
        // The library would hide it and wait for its last user.
        if by_program
            && evenkeel_os::tools::run("fusermount3", &["-u".as_ref(), self.at.as_os_str()]).is_err()
        {
            return Err(FuseError::Busy(self.at.clone()));
        }
        let Some(session) = self.session.take() else { return Ok(()) };
        match session.join() {
            // The kernel took it down while the thread was reading what it said last.
            Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => Ok(()),
            ended => ended.map_err(|error| self.failed(error)),
        }
    }

    fn failed(&self, error: io::Error) -> FuseError {
        let path = self.at.clone();
        match error.raw_os_error() {
            Some(libc::EBUSY) => FuseError::Busy(path),
            _ => FuseError::Unmount { path, error },
        }
    }
}

impl Drop for FuseFront {
    fn drop(&mut self) {
        if self.session.is_none() || self.detached {
            // Its thread ends with the last user of the file.
            return;
        }
        if let Err(FuseError::Busy(_)) = self.unmount() {
            // Nobody is left who could see an error.
            let _ = self.detach();
        }
    }
}

/// Whether something can be mounted there.
fn look(at: &Path) -> Result<PathBuf, FuseError> {
    let path = || at.to_owned();
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOENT) => FuseError::Missing(path()),
        Some(libc::ENOTCONN) => FuseError::Dead(path()),
        Some(libc::ENOTDIR) => FuseError::NotAFolder(path()),
        _ => FuseError::Mount { path: path(), error },
    };
    let found = fs::metadata(at).map_err(failed)?;
    if !found.is_dir() {
        return Err(FuseError::NotAFolder(path()));
    }
    let at = at.canonicalize().map_err(failed)?;
    let above = fs::metadata(at.join("..")).map_err(failed)?;
    if above.dev() != found.dev() || above.ino() == found.ino() {
        return Err(FuseError::InUse(at));
    }
    if fs::read_dir(&at).map_err(failed)?.next().is_some() {
        return Err(FuseError::NotEmpty(at));
    }
    let device = fs::OpenOptions::new().read(true).write(true).open("/dev/fuse");
    device.map(|_| at).map_err(FuseError::NoFuse)
}

fn refused(at: &Path, error: io::Error) -> FuseError {
    let path = at.to_owned();
    // A call that is not permitted is followed by fusermount3, which is missing or says why in its own words.
    let said = error.to_string();
    let kind = error.kind();
    if kind == io::ErrorKind::PermissionDenied
        || kind == io::ErrorKind::NotFound
        || said.contains("fusermount")
    {
        return FuseError::NotPermitted { path, error };
    }
    FuseError::Mount { path, error }
}

#[cfg(test)]
mod tests;

/// Why a file system is not mounted, or not taken down.
#[derive(Debug, thiserror::Error)]
pub enum FuseError {
    #[error("no such folder: {0}")]
    Missing(PathBuf),
    #[error("not a folder: {0}")]
    NotAFolder(PathBuf),
    #[error("folder not empty: {0}")]
    NotEmpty(PathBuf),
    #[error("already a mount point: {0}")]
    InUse(PathBuf),
    #[error("stale mount point, its process has ended: {0}")]
    Dead(PathBuf),
    #[error("not a valid file name: {0:?}")]
    Name(String),
    #[error("FUSE is not available: /dev/fuse: {0}")]
    NoFuse(io::Error),
    #[error("not permitted to mount at {path}: {error}")]
    NotPermitted { path: PathBuf, error: io::Error },
    #[error("cannot mount at {path}: {error}")]
    Mount { path: PathBuf, error: io::Error },
    #[error("in use: {0}")]
    Busy(PathBuf),
    #[error("cannot unmount {path}: {error}")]
    Unmount { path: PathBuf, error: io::Error },
}

impl FuseError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing(_) => "create the folder first",
            Self::NotAFolder(_) | Self::NotEmpty(_) => "choose an empty folder",
            Self::InUse(_) | Self::Dead(_) => "umount it first, or choose another folder",
            Self::Name(_) => "a name has no slash and does not begin with a dot",
            Self::NoFuse(_) => "load the kernel module fuse; a container needs /dev/fuse",
            Self::NotPermitted { .. } => {
                "run it as root, or install fuse3, whose fusermount3 mounts for users"
            }
            Self::Busy(_) => "close what has the file open",
            Self::Mount { .. } | Self::Unmount { .. } => return None,
        })
    }
}
