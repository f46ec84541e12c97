//! A disk whose cache forgets at a power cut, beneath the disk that is tested: a file, served by a process of its own that
//! can be killed.

use super::Disk;
use crate::cli::eventually;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Names the folder of a disk to the process that serves it, and whether it lies.
const FOLDER: &str = "EVENKEEL_VOLATILE";
const LIES: &str = "EVENKEEL_VOLATILE_LIES";

/// A disk that is mounted on one that forgets.
pub struct OnVolatile {
    disk: Disk,
    served: Served,
}

impl OnVolatile {
    /// Mounts `folder/disk` at `folder/at`; `Err` is what the command said where it refused.
    pub fn mount(folder: &Path, lies: bool, more: &[&str]) -> Result<Self, String> {
        let served = Served::up(folder, lies);
        let disk = Disk::mount_on(folder, &served.file(), more)?;
        Ok(Self { disk, served })
    }

    pub fn at(&self) -> &Path {
        self.disk.at()
    }

    /// Takes it down in order.
    pub fn down(self) {
        self.disk.down();
        self.served.down();
    }

    /// From now on the disk answers nothing, and what it had not flushed is gone.
    pub fn cut_power(&mut self) {
        self.served.cut_power();
        self.disk.cut_power();
    }

    pub fn unmount(&self) {
        self.disk.unmount();
    }
}

/// The process that serves the disk beneath.
struct Served {
    child: Child,
    at: PathBuf,
}

impl Served {
    fn up(folder: &Path, lies: bool) -> Self {
        let at = folder.join("served");
        fs::create_dir_all(&at).expect("a folder");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "mounted::volatile::serves_until_its_input_ends", "--nocapture"]);
        command.env(FOLDER, folder).env(LIES, if lies { "yes" } else { "no" });
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        let served = Self { child, at };
        eventually("the disk beneath", || served.file().exists());
        served
    }

    fn file(&self) -> PathBuf {
        self.at.join("disk")
    }

    fn down(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it ends").success());
    }

    fn cut_power(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        self.unmount();
    }

    /// What a killed process had mounted stays until somebody takes it away.
    fn unmount(&self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).stderr(Stdio::null()).status();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.unmount();
    }
}

/// The process of [`Served`]; as one of the tests it does nothing.
#[test]
fn serves_until_its_input_ends() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let lies = std::env::var(LIES).is_ok_and(|lies| lies == "yes");
    evenkeel_dev::volatile::serve(folder.as_path(), lies).expect("it is served");
}
