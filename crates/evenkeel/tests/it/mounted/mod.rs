//! `evenkeel share mount`: a file system on a disk, and what becomes of it when the power goes.

mod power;
mod volatile;

use crate::cli::{configured, eventually, found, words};
use crate::guard::server::{Server, signal};
use crate::left_out::left_out;
use crate::sandbox::{done, measured};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::tempdir;
use volatile::OnVolatile;

const MIB: u64 = 1 << 20;

#[test]
fn a_disk_is_mounted_in_one_step_and_taken_down_by_sigterm_or_umount() {
    let folder = tempdir().expect("a folder");
    blank(folder.path(), 64 * MIB);
    if !can_mount() {
        return;
    }
    let refused = Disk::mount(folder.path(), &[]).err().expect("there is no file system yet");
    assert!(refused.starts_with("2: ") && refused.contains("--mkfs ext4"), "{refused}");
    let disk = Disk::mount(folder.path(), &["--mkfs", "ext4"]).expect("a mount");
    fs::write(disk.at().join("file"), "written").expect("a file");
    let second = Disk::mount(folder.path(), &[]).err().expect("there is one already");
    assert!(second.contains("mount point already") || second.contains("in use"), "{second}");
    disk.down();
    let text = format!(
        "name = 'h'\n[[disk]]\nname = 'd'\nbacking = '{}'\ndirect = true\n",
        folder.path().join("disk").display()
    );
    let file = configured(&folder.path().join("share.toml"), &text);
    let mut again = Disk::mount_by(folder.path(), &[&file, "--mkfs", "ext4"]).expect("a mount");
    assert_eq!(fs::read_to_string(again.at().join("file")).expect("the file"), "written");
    again.unmount();
    assert!(again.wait().success(), "who unmounts by hand ends it");
    let sound =
        Command::new("/sbin/e2fsck").arg("-fn").arg(folder.path().join("disk")).output().expect("e2fsck");
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
}

#[test]
fn a_disk_that_is_not_blank_is_not_formatted() {
    let folder = tempdir().expect("a folder");
    blank(folder.path(), 64 * MIB);
    if !can_mount() {
        return;
    }
    let content = "somebody's data ".repeat(4_096);
    fs::write(folder.path().join("disk"), &content).expect("a file");
    let refused = Disk::mount(folder.path(), &["--mkfs", "ext4"]).err().expect("it is not blank");
    assert!(refused.contains("not blank"), "{refused}");
    assert!(fs::read_to_string(folder.path().join("disk")).expect("the file") == content);
}

const TINY: &str =
    "-q study databases --json size=1MB clients=4 most=8 ways=evenkeel warm-up=1s duration=10s";

#[test]
fn two_databases_get_orders_through_mounted_disks_that_are_gone_in_the_end() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let results: Value = serde_json::from_str(&done(home.path(), &words(TINY))).expect("JSON");
    let cell = &results["cells"][0];
    let figure = |name: &str| cell["figures"][name]["mean"].as_f64();
    for host in ["a", "b"] {
        let of = |name: &str| figure(&format!("{name}@{host}"));
        assert!(of("orders_per_minute").is_some_and(|orders| orders > 0.0), "{cell}");
        assert!(of("window").is_some_and(|window| window > 0.0 && window <= 8.0), "{cell}");
        assert_eq!(of("lost"), Some(0.0), "{cell}");
    }
    assert!(figure("orders_ratio").is_some_and(|ratio| ratio > 0.0), "{cell}");
    let columns = results["series"][0]["columns"].as_array().expect("columns");
    let rows = results["series"][0]["rows"].as_array().expect("every period");
    for host in ["a", "b"] {
        let window = columns.iter().position(|column| *column == format!("window@{host}")).expect("a column");
        let told = rows.iter().filter(|row| row[1][window].is_number()).count();
        // Twice a second, in 11 s; a host that stands still for a while misses some, and none counts twice.
        assert!((1..=24).contains(&told), "{told} periods of host {host}: {rows:?}");
    }
    let study = home.path().join("runs").join(results["id"].as_str().expect("a name"));
    assert!(fs::read_to_string(study.join("report.html")).expect("the page").ends_with("</html>\n"));
    assert!(!home.path().join("scratch").exists(), "images stayed");
    assert_eq!(left_of(home.path()), Vec::<String>::new());
}

/// Mounts and processes that know of a folder.
fn left_of(home: &Path) -> Vec<String> {
    let home = home.display().to_string();
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let mut left: Vec<String> =
        mounts.lines().filter(|line| line.contains(&home)).map(str::to_owned).collect();
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(&home) {
            left.push(command);
        }
    }
    left
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn a_run_that_is_finished_is_whole_after_a_power_cut() {
    if !can_mount() {
        return;
    }
    let (folder, server) = (tempdir().expect("a folder"), Server::up(&[]));
    let workload = server.workload("point", &[("one", "SELECT 1")]);
    blank(folder.path(), 128 << 20);
    let mut disk = OnVolatile::mount(folder.path(), false, &["--mkfs", "ext4"]).expect("a mount");
    // A run of a second is too short to be valid, and it is measured all the same.
    let flags = "--rate 50 --repeats 1 --duration 1s --warm-up 0s --workload";
    measured(disk.at(), &words(&format!("profile {} {flags} {workload}", server.url())));
    disk.cut_power();
    disk.unmount();

    let disk = OnVolatile::mount(folder.path(), false, &[]).expect("a mount");
    let studies = entries(&disk.at().join("runs"));
    let runs = entries(&studies.first().expect("the study is there").join("runs"));
    assert!(!runs.is_empty(), "the run is not there");
    // Where the machine was disturbed, there are several attempts.
    for run in runs {
        // Under the name that it has while it is written it would count for nothing, however whole it is.
        assert!(run.extension().is_none_or(|end| end != "part"), "{} has not its name", run.display());
        let files = entries(&run);
        assert!(files.len() >= 4, "{files:?}");
        for file in files {
            let bytes = fs::metadata(&file).expect("a file").len();
            assert!(bytes > 0, "{} is empty", file.display());
        }
    }
    disk.down();
}

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
