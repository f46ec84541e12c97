//! `evenkeel share mount`: a file system on a disk, and what becomes of it when the power goes.

mod databases;
mod disk;
mod power;
mod runs;
mod volatile;

use crate::cli::configured;
use disk::{Disk, blank, can_mount};
use std::fs;
use std::process::Command;
use tempfile::tempdir;

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
