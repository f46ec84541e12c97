//! A sandbox keeps its files in a folder of its own.

use super::SandboxError;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A socket's path has 108 bytes in the kernel's structure, the last of them zero.
const SOCKET_PATH_BYTES: usize = 107;

/// `$EVENKEEL_HOME`, else `$XDG_STATE_HOME/evenkeel`, else `$HOME/.local/state/evenkeel`.
pub fn default_home() -> Result<PathBuf, SandboxError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("EVENKEEL_HOME")
        .or_else(|| set("XDG_STATE_HOME").map(|path| path.join("evenkeel")))
        .or_else(|| set("HOME").map(|path| path.join(".local/state/evenkeel")))
        .ok_or(SandboxError::NoHome)
}

#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub name: String,
    /// `HOME/sandboxes/NAME`, as an absolute path.
    pub dir: PathBuf,
}

impl Paths {
    pub(super) fn new(home: &Path, name: &str) -> Result<Self, SandboxError> {
        check_name(name)?;
        Ok(Self { name: name.into(), dir: all(home)?.join(name) })
    }

    /// Whether a server can be told this path: option files are text in lines, and of `tmpdir` a colon makes two.
    pub(super) fn check_home(&self) -> Result<(), SandboxError> {
        let fail = |reason| Err(SandboxError::Home { path: self.dir.clone(), reason });
        match self.dir.to_str() {
            None => fail("it is not UTF-8"),
            Some(path) if path.contains(char::is_control) => {
                fail("it has a line end or another control character")
            }
            Some(path) if path.contains(':') => {
                fail("it has a colon, which separates folders in the server's lists")
            }
            Some(_) if self.socket().as_os_str().len() > SOCKET_PATH_BYTES => {
                fail("the path of its socket has more than 107 bytes")
            }
            Some(_) => Ok(()),
        }
    }

    /// Creates the directories, closed to other users: whoever reaches the socket is root at the server.
    pub(super) fn create(&self) -> Result<(), SandboxError> {
        for dir in [&self.dir, &self.tmp()] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(SandboxError::io("create directory", dir))?;
        }
        Ok(())
    }

    pub(super) fn my_cnf(&self) -> PathBuf {
        self.dir.join("my.cnf")
    }

    /// On the file disk where there is one.
    pub(super) fn data(&self) -> PathBuf {
        if self.image().exists() { self.disk().join("data") } else { self.dir.join("data") }
    }

    /// The folder of the data directory, which is there before it.
    pub(super) fn around_data(&self) -> PathBuf {
        if self.image().exists() { self.disk() } else { self.dir.clone() }
    }

    /// Removes what there is of a sandbox that never had data.
    pub(super) fn discard(&self) {
        let _ = fs::remove_dir(self.disk()).and_then(|()| fs::remove_file(self.dir.join("data")));
        let _ = [self.image(), self.record(), self.dir.join("lock")].map(fs::remove_file);
        let _ = [self.tmp(), self.dir.clone()].map(fs::remove_dir);
    }

    /// Where the file disk is mounted while the server is up.
    pub(super) fn disk(&self) -> PathBuf {
        self.dir.join("disk")
    }

    /// The file that the file disk is in.
    pub(super) fn image(&self) -> PathBuf {
        self.dir.join("disk.img")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// What the script that created the data directory said; there if it failed.
    pub(super) fn bootstrap_log(&self) -> PathBuf {
        self.dir.join("bootstrap.log")
    }

    pub(super) fn pid_file(&self) -> PathBuf {
        self.dir.join("server.pid")
    }

    /// The name of the study that gives the data back, a space, and when it began (`study::site`); there while one has to.
    pub(super) fn study_note(&self) -> PathBuf {
        self.dir.join("snapshot.study")
    }

    pub(super) fn record(&self) -> PathBuf {
        self.dir.join("sandbox.json")
    }

    /// SQL that sets up the accounts; there until the first start has succeeded.
    pub(super) fn init_sql(&self) -> PathBuf {
        self.dir.join("init.sql")
    }

    /// A number that tells this sandbox from those of the same name under other homes (FNV-1a).
    pub(super) fn hash(&self) -> u64 {
        let bytes = self.dir.as_os_str().as_bytes();
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// How names of its groups begin.
    pub(super) fn group_prefix(&self) -> String {
        format!("{}-{:08x}-", self.name, self.hash() as u32)
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.dir.join("server.sock")
    }

    /// Keeps other evenkeels from starting or stopping this sandbox at the same time.
    pub(super) fn lock(&self) -> Result<Lock, SandboxError> {
        let path = self.dir.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(SandboxError::io("open", &path))?;
        let busy = || SandboxError::Busy { name: self.name.clone() };
        if evenkeel_os::exclusive(&file) { Ok(Lock(file)) } else { Err(busy()) }
    }
}

/// The kernel lets go of it when the file is closed, also by a crash.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code, reason = "held, not read")] File);

pub(super) fn all(home: &Path) -> Result<PathBuf, SandboxError> {
    let all = std::path::absolute(home).map_err(SandboxError::io("find", home))?.join("sandboxes");
    // As the kernel names mounts, and whoever comes by another link finds: without links, as far as it is there.
    let real = |there: &Path| Some(there.canonicalize().ok()?.join(all.strip_prefix(there).ok()?));
    Ok(all.ancestors().find_map(real).unwrap_or_else(|| all.clone()))
}

fn check_name(name: &str) -> Result<(), SandboxError> {
    let fail = |reason| Err(SandboxError::Name { name: name.into(), reason });
    if name.is_empty() || name.len() > 64 {
        return fail("it has 1 to 64 characters");
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        return fail("it consists of letters, digits, '-', '_' and '.'");
    }
    if name.starts_with(['.', '-']) { fail("it begins with a letter, a digit or '_'") } else { Ok(()) }
}

/// Writes a file that is closed to other users.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path);
    file?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for name in ["", ".", "..", "a/b", "-x", "a b", "ä", &"x".repeat(65)] {
            assert!(Paths::new(Path::new("/h"), name).is_err(), "{name:?}");
        }
        let paths = Paths::new(Path::new("/h"), "My_sand-box.1").unwrap();
        assert_eq!(paths.dir, Path::new("/h/sandboxes/My_sand-box.1"));
    }

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path(), "a").unwrap();
        paths.create().unwrap();
        let lock = paths.lock().unwrap();
        assert!(matches!(paths.lock(), Err(SandboxError::Busy { .. })));
        drop(lock);
        paths.lock().unwrap();
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused() {
        let paths = |length| Paths::new(Path::new(&format!("/{}", "d".repeat(length))), "a").unwrap();
        // Beside /sandboxes/a/server.sock.
        assert!(paths(82).check_home().is_ok());
        let refused = paths(83).check_home().unwrap_err().to_string();
        assert!(refused.contains("socket has more than 107 bytes"), "{refused}");
    }
}
