//! The process of a mounted disk, as a user starts it.

use crate::guard::proxy::signal;
use crate::left_out::left_out;
use crate::patience::{eventually, found};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Whether file systems can be mounted here; a test on a machine where they cannot is left out.
pub fn can_mount() -> bool {
    let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok();
    let output = Command::new("losetup").arg("--find").env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").output();
    let loops = output.is_ok_and(|output| output.status.success()) && Path::new("/dev/loop-control").exists();
    // SAFETY: a system call without arguments that cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if !(fuse && loops && root) {
        left_out(format!("no mounts: root {root}, /dev/fuse {fuse}, loop devices {loops}"));
    }
    fuse && loops && root
}

/// A disk, the folder it is mounted at, and the process in between.
pub struct Disk {
    child: Child,
    at: PathBuf,
}

impl Disk {
    /// Mounts `folder/disk` at `folder/at`; `Err` is what the command said where it refused.
    pub fn mount(folder: &Path, more: &[&str]) -> Result<Self, String> {
        Self::mount_on(folder, &folder.join("disk"), more)
    }

    /// The same of a disk at another place.
    pub fn mount_on(folder: &Path, backing: &Path, more: &[&str]) -> Result<Self, String> {
        let backing = backing.to_str().expect("a path in UTF-8");
        Self::mount_by(folder, &[&["--name", "tested", "--backing", backing], more].concat())
    }

    /// The same of a disk that these flags name.
    pub fn mount_by(folder: &Path, flags: &[&str]) -> Result<Self, String> {
        let at = folder.join("at");
        fs::create_dir_all(&at).expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "mount", "--at"]).arg(&at).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it has an output")).read_line(&mut line).expect("text");
        if line.contains(at.to_str().expect("a path in UTF-8")) {
            return Ok(Self { child, at });
        }
        let output = child.wait_with_output().expect("it ends");
        Err(format!("{}: {}", output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr)))
    }

    pub fn at(&self) -> &Path {
        &self.at
    }

    pub fn is_mounted(&self) -> bool {
        mount_lines(&self.at) > 0
    }

    pub fn terminate(&self) {
        signal("-TERM", self.child.id() as i32);
    }

    pub fn wait(&mut self) -> ExitStatus {
        found("the end of the process of the disk", || self.child.try_wait().expect("a child"))
    }

    /// Takes it down in order.
    pub fn down(mut self) {
        self.terminate();
        let status = self.wait();
        let mut said = String::new();
        self.child.stderr.take().expect("it has an output").read_to_string(&mut said).expect("text");
        assert!(status.success(), "{status}: {said}");
        assert!(!self.is_mounted());
    }

    /// From now on the disk answers nothing.
    pub fn cut_power(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// By hand. What a process had under way when it was killed keeps the mount a little longer than the process.
    pub fn unmount(&self) {
        eventually("an end of the mount", || {
            let output = Command::new("umount").arg(&self.at).output().expect("umount");
            if !output.status.success() {
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
            }
            output.status.success()
        });
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.is_mounted() {
            let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
        }
    }
}

fn mount_lines(at: &Path) -> usize {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let at = at.canonicalize().map(|path| path.display().to_string()).unwrap_or_default();
    mounts.lines().filter(|line| line.split(' ').nth(1) == Some(&at)).count()
}

/// A blank disk, without any block.
pub fn blank(folder: &Path, bytes: u64) {
    File::create(folder.join("disk")).and_then(|file| file.set_len(bytes)).expect("a file");
}
