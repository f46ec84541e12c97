//! What this machine must have, before anything starts.

use crate::published::{PublishedError, Result};
use evenkeel_os::tools;
use evenkeel_site::sandbox;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const PROGRAMS: [(&str, &str); 6] = [
    ("losetup", "mount"),
    ("mount", "mount"),
    ("umount", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("blkid", "util-linux"),
    ("cp", "coreutils"),
];

pub fn check() -> Result<()> {
    let mut missing = missing();
    if let Err(error) = sandbox::check_server(None) {
        missing.push((error.to_string(), error.hint().unwrap_or_default().into_owned()));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (what, mut remedies): (Vec<String>, Vec<String>) = missing.into_iter().unzip();
    remedies.dedup();
    let what = format!("databases on mounted disks are not possible here: {}", what.join("; "));
    Err(PublishedError::with_hint(what, remedies.join("; ")))
}

fn missing() -> Vec<(String, String)> {
    let mut missing = Vec::new();
    // The owner of a process is its effective user.
    if fs::metadata("/proc/self").map(|found| found.uid()).ok() != Some(0) {
        missing.push(("not root, and only root can mount".to_owned(), "run it as root".to_owned()));
    }
    if OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
        let remedy = "load the kernel's module (modprobe fuse), and let a container use the device";
        missing.push(("/dev/fuse cannot be opened".to_owned(), remedy.to_owned()));
    }
    if !Path::new("/dev/loop-control").exists() {
        let remedy = "load the kernel's module (modprobe loop), and let a container use the devices";
        missing.push(("there are no loop devices".to_owned(), remedy.to_owned()));
    }
    for (program, package) in PROGRAMS.iter().filter(|(program, _)| !tools::is_there(program)) {
        missing.push((format!("no {program}"), format!("apt install {package}")));
    }
    missing
}
