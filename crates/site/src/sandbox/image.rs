//! A file disk: the data directory is on a file system inside a file of the sandbox's folder, mounted while the server is up.

use super::SandboxError;
use super::domain::{FileDisk, FileSystem};
use super::paths::Paths;
use super::server::{check_room, check_tools};
use evenkeel_os::{tools, unmount};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Small journals, no background work after mkfs, and room for one file in 256 KiB.
const EXT4: [&str; 10] =
    ["-q", "-F", "-m", "0", "-i", "262144", "-J", "size=8", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
const XFS: [&str; 2] = ["-q", "-f"];
const BTRFS: [&str; 6] = ["-q", "-f", "-m", "single", "-d", "single"];

/// Whether there is what it takes to make and mount one.
pub(super) fn check(disk: FileDisk) -> Result<(), SandboxError> {
    let (program, _, package) = maker(disk.file_system);
    let needed = [(program, package), ("mount", "mount"), ("losetup", "mount")];
    check_tools(&needed, |reason, hint| refused(disk, reason, hint))
}

fn refused(disk: FileDisk, reason: String, hint: &'static str) -> SandboxError {
    SandboxError::Limit { what: format!("file-disk={disk}"), reason, hint }
}

/// Makes the file where there is none yet, and mounts it.
pub(super) fn mount(paths: &Paths, disk: FileDisk) -> Result<(), SandboxError> {
    let (image, at) = (paths.image(), paths.disk());
    if !image.exists() {
        check_room(&paths.dir, disk.bytes >> 20)?;
        make(paths, disk)
            .map_err(|reason| refused(disk, reason, "correct the file disk, or run without it"))?;
    }
    fs::create_dir_all(&at).map_err(SandboxError::io("create directory", &at))?;
    let words = ["-t", disk.file_system.word(), "-o", "loop,noatime"].map(OsStr::new);
    tools::run("mount", &[&words[..], &[image.as_os_str(), at.as_os_str()]].concat()).map_err(|error| {
        let text = error.to_string();
        // Without any, mount says no more than that it is not permitted.
        let is_loop = text.contains("loop device") || !Path::new("/dev/loop-control").exists();
        let (why, hint) = match is_loop {
            true => {
                (": no loop device is left", "free one (losetup -a shows who has them), or modprobe loop")
            }
            false => ("", "run it as root where file systems may be mounted, or without a file disk"),
        };
        refused(disk, text.trim_end_matches('.').to_owned() + why, hint)
    })?;
    // Else what the server reads past its own cache would be in the machine's. Not every file system has it.
    if let Some(device) = source(&at) {
        let _ = tools::run("losetup", &[OsStr::new("--direct-io=on"), OsStr::new(&device)]);
    }
    Ok(())
}

/// The program that makes such a file system, with its options, and the package that has it.
fn maker(file_system: FileSystem) -> (&'static str, &'static [&'static str], &'static str) {
    match file_system {
        FileSystem::Ext4 => ("mkfs.ext4", &EXT4, "e2fsprogs"),
        FileSystem::Xfs => ("mkfs.xfs", &XFS, "xfsprogs"),
        FileSystem::Btrfs => ("mkfs.btrfs", &BTRFS, "btrfs-progs"),
    }
}

/// The file appears under its name once it has a file system.
fn make(paths: &Paths, disk: FileDisk) -> Result<(), String> {
    let (program, options, _) = maker(disk.file_system);
    let new = paths.image().with_extension("new");
    let made = File::create(&new)
        .and_then(|file| file.set_len(disk.bytes))
        .map_err(|error| error.to_string())
        .and_then(|()| {
            let options = options.iter().map(OsStr::new);
            let words: Vec<&OsStr> = options.chain([new.as_os_str()]).collect();
            tools::run(program, &words).map_err(|error| error.to_string())
        })
        .and_then(|_| fs::rename(&new, paths.image()).map_err(|error| error.to_string()));
    if made.is_err() {
        let _ = fs::remove_file(&new);
    }
    // Others find the data where those of every sandbox are.
    made.and_then(|()| {
        std::os::unix::fs::symlink("disk/data", paths.dir.join("data")).map_err(|error| error.to_string())
    })
}

/// Unmounts what is mounted, as soon as the server has let go of it.
pub(super) fn unmount_all(paths: &Paths) -> Result<(), SandboxError> {
    let at = paths.disk();
    let mut tries = 0;
    while source(&at).is_some() {
        match unmount(&at, false) {
            Err(error) if tries == 100 => return Err(SandboxError::io("unmount", &at)(error)),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
            Ok(()) => {}
        }
        tries += 1;
    }
    Ok(())
}

/// The device that is mounted there, if one is.
fn source(at: &Path) -> Option<String> {
    let mounts = fs::read("/proc/self/mounts").ok()?;
    // The kernel writes blanks and backslashes of a path in octal.
    let escaped = at.as_os_str().as_bytes().iter().flat_map(|byte| match byte {
        b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
        byte => vec![*byte],
    });
    let escaped: Vec<u8> = escaped.collect();
    let mut lines = mounts.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b' '));
    let device = lines
        .find_map(|mut words| Some((words.next()?, words.next()?)).filter(|(_, path)| *path == escaped))?
        .0;
    Some(String::from_utf8_lossy(device).into_owned())
}
