//! The data directory of a stopped server is copied, and brought back to that copy later.
//!
//! A write run changes a few of many files. The way back compares size and time of modification of each file
//! with the copy's and copies only what differs, sharing blocks where the file system can.

use evenkeel_os::file::is_locked;
use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// Its presence in a data directory says that a restore was begun and not finished.
const MARKER: &str = "evenkeel-restoring";
/// Files that a running MySQL or MariaDB server holds a lock on.
const LOCKED_FILES: [&str; 3] = ["ibdata1", "aria_log_control", "ib_logfile0"];

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("cannot {doing} {}: {source}", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("a server is running on {}", .0.display())]
    ServerRunning(PathBuf),
    #[error("there is no finished snapshot at {}", .0.display())]
    SnapshotMissing(PathBuf),
    #[error("a restore of {} was interrupted", .0.display())]
    RestoreInterrupted(PathBuf),
}

impl CopyError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::ServerRunning(_) => "stop that server first",
            Self::RestoreInterrupted(_) => "restore the snapshot again before the server starts",
            Self::SnapshotMissing(_) => "take the snapshot again, from a fresh data set",
            Self::File { .. } => return None,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    data_directory: PathBuf,
    copy: PathBuf,
}

impl Snapshot {
    /// Copies the data directory of a stopped server to `into`, replacing an older copy. It appears there
    /// whole or not at all.
    pub fn take(data_directory: &Path, into: &Path) -> Result<Self, CopyError> {
        refuse_running(data_directory)?;
        if Self::is_interrupted(data_directory) {
            return Err(CopyError::RestoreInterrupted(data_directory.to_owned()));
        }
        let partial = sibling(into, "partial");
        remove(&partial)?;
        mirror(data_directory, &partial)?;
        remove(into)?;
        fs::rename(&partial, into).map_err(|source| failed("name the snapshot", into, source))?;
        sync_parent(into)?;
        Ok(Self { data_directory: data_directory.to_owned(), copy: into.to_owned() })
    }

    pub fn open(data_directory: &Path, copy: &Path) -> Result<Self, CopyError> {
        match copy.is_dir() {
            true => Ok(Self { data_directory: data_directory.to_owned(), copy: copy.to_owned() }),
            false => Err(CopyError::SnapshotMissing(copy.to_owned())),
        }
    }

    /// Whether a restore into this data directory was cut short; no server may start on it then.
    pub fn is_interrupted(data_directory: &Path) -> bool {
        data_directory.join(MARKER).exists()
    }

    /// Brings the data directory of the stopped server back to the copy. Killed at any moment it leaves a
    /// marker ([`Snapshot::is_interrupted`]), and restoring again finishes the work.
    pub fn restore(&self) -> Result<(), CopyError> {
        if !self.copy.is_dir() {
            return Err(CopyError::SnapshotMissing(self.copy.clone()));
        }
        refuse_running(&self.data_directory)?;
        let marker = self.data_directory.join(MARKER);
        fs::create_dir_all(&self.data_directory)
            .and_then(|()| File::create(&marker)?.sync_all())
            .map_err(|source| failed("mark the data directory", &marker, source))?;
        sync_parent(&marker)?;
        mirror(&self.copy, &self.data_directory)?;
        fs::remove_file(&marker).map_err(|source| failed("remove the marker", &marker, source))?;
        sync_parent(&marker)
    }
}

/// Makes `to` like `from`: copies what is missing or differs, removes what is too much, syncs what it wrote.
fn mirror(from: &Path, to: &Path) -> Result<(), CopyError> {
    fs::create_dir_all(to).map_err(|source| failed("create", to, source))?;
    let names = entries(from)?;
    for name in entries(to)?.difference(&names).filter(|name| *name != MARKER) {
        remove(&to.join(name))?;
    }
    for name in &names {
        let (source, destination) = (from.join(name), to.join(name));
        let metadata = metadata(&source)?;
        if metadata.is_dir() {
            if destination.is_file() {
                remove(&destination)?;
            }
            mirror(&source, &destination)?;
        } else if metadata.is_file() && !is_same(&metadata, &destination) {
            remove(&destination)?;
            copy_file(&source, &metadata, &destination)?;
        }
        // Sockets and pipes belong to a running server.
    }
    keep_owner(from, to)?;
    File::open(to).and_then(|directory| directory.sync_all()).map_err(|source| failed("sync", to, source))
}

/// Same size and time of modification, to the nanosecond: every write through the kernel moves the latter.
fn is_same(metadata: &fs::Metadata, other: &Path) -> bool {
    fs::symlink_metadata(other).is_ok_and(|other| {
        other.is_file()
            && other.len() == metadata.len()
            && (other.mtime(), other.mtime_nsec()) == (metadata.mtime(), metadata.mtime_nsec())
    })
}

/// Copies bytes, then the time of modification: a copy that is cut short never looks finished.
fn copy_file(from: &Path, metadata: &fs::Metadata, to: &Path) -> Result<(), CopyError> {
    let copied = || -> io::Result<()> {
        let mut destination = File::create_new(to)?;
        // By the kernel, which lets both share their blocks where the file system can.
        io::copy(&mut File::open(from)?, &mut destination)?;
        destination.set_permissions(fs::Permissions::from_mode(metadata.mode()))?;
        destination.sync_all()?;
        destination.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
        destination.sync_all()
    };
    copied().map_err(|source| failed("copy to", to, source))?;
    keep_owner(from, to)
}

fn keep_owner(from: &Path, to: &Path) -> Result<(), CopyError> {
    let (from, is) = (metadata(from)?, metadata(to)?);
    if (from.uid(), from.gid()) == (is.uid(), is.gid()) {
        return Ok(());
    }
    chown(to, Some(from.uid()), Some(from.gid())).map_err(|source| failed("give an owner to", to, source))
}

/// Fails where a server holds a lock on one of the files.
fn refuse_running(data_directory: &Path) -> Result<(), CopyError> {
    for name in LOCKED_FILES {
        if let Ok(file) = File::open(data_directory.join(name))
            && is_locked(&file)
        {
            return Err(CopyError::ServerRunning(data_directory.to_owned()));
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> Result<BTreeSet<std::ffi::OsString>, CopyError> {
    fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect())
        .map_err(|source| failed("list", directory, source))
}

fn metadata(path: &Path) -> Result<fs::Metadata, CopyError> {
    fs::symlink_metadata(path).map_err(|source| failed("look at", path, source))
}

fn remove(path: &Path) -> Result<(), CopyError> {
    let removed = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    removed.map_err(|source| failed("remove", path, source))
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn sync_parent(path: &Path) -> Result<(), CopyError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| failed("sync", parent, source))
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> CopyError {
    CopyError::File { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A data directory with a table that the tests change and one that they leave alone.
    fn server(root: &Path) -> PathBuf {
        let directory = root.join("data");
        fs::create_dir_all(directory.join("tpcw")).unwrap();
        for (name, text) in
            [("ibdata1", "system"), ("tpcw/item.ibd", "items"), ("tpcw/order_line.ibd", "lines")]
        {
            fs::write(directory.join(name), text).unwrap();
        }
        directory
    }

    fn files(directory: &Path) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        for name in entries(directory).unwrap() {
            let path = directory.join(&name);
            match path.is_dir() {
                true => files.extend(
                    self::files(&path).into_iter().map(|(inner, text)| (Path::new(&name).join(inner), text)),
                ),
                false => drop(files.insert(name.into(), fs::read_to_string(path).unwrap())),
            }
        }
        files
    }

    #[test]
    fn a_restore_brings_back_changed_and_lost_files_and_removes_new_ones() {
        let root = tempfile::tempdir().unwrap();
        let data = server(root.path());
        let before = files(&data);
        let snapshot = Snapshot::take(&data, &root.path().join("copy")).unwrap();
        fs::write(data.join("tpcw/order_line.ibd"), "LINES").unwrap();
        fs::write(data.join("tpcw/new.ibd"), "new").unwrap();
        fs::create_dir(data.join("other")).unwrap();
        fs::remove_file(data.join("ibdata1")).unwrap();
        snapshot.restore().unwrap();
        assert_eq!(files(&data), before);
        assert_eq!(Snapshot::open(&data, &root.path().join("copy")).unwrap(), snapshot);
    }

    #[test]
    fn a_file_that_nobody_wrote_to_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let data = server(root.path());
        let snapshot = Snapshot::take(&data, &root.path().join("copy")).unwrap();
        let inode = |name: &str| fs::metadata(data.join(name)).unwrap().ino();
        let untouched = inode("tpcw/item.ibd");
        fs::write(data.join("tpcw/order_line.ibd"), "LINES").unwrap();
        snapshot.restore().unwrap();
        assert_eq!(inode("tpcw/item.ibd"), untouched);
    }

    #[test]
    fn a_restore_that_was_cut_short_is_recognised_and_done_again() {
        let root = tempfile::tempdir().unwrap();
        let data = server(root.path());
        let before = files(&data);
        let snapshot = Snapshot::take(&data, &root.path().join("copy")).unwrap();
        // What a kill in the middle leaves: the marker, and a file of the right size with other bytes whose
        // time was not set yet.
        fs::write(data.join(MARKER), "").unwrap();
        fs::write(data.join("tpcw/order_line.ibd"), "l...s").unwrap();
        assert!(Snapshot::is_interrupted(&data));
        assert!(matches!(
            Snapshot::take(&data, &root.path().join("other")),
            Err(CopyError::RestoreInterrupted(path)) if path == data
        ));
        snapshot.restore().unwrap();
        assert!(!Snapshot::is_interrupted(&data));
        assert_eq!(files(&data), before);
    }

    #[test]
    fn a_snapshot_that_was_cut_short_is_no_snapshot() {
        let root = tempfile::tempdir().unwrap();
        let data = server(root.path());
        let copy = root.path().join("copy");
        fs::create_dir(sibling(&copy, "partial")).unwrap();
        assert!(
            matches!(Snapshot::open(&data, &copy), Err(CopyError::SnapshotMissing(path)) if path == copy)
        );
        let snapshot = Snapshot::take(&data, &copy).unwrap();
        assert!(!sibling(&copy, "partial").exists());
        fs::remove_dir_all(&copy).unwrap();
        assert!(matches!(snapshot.restore(), Err(CopyError::SnapshotMissing(_))));
    }
}
