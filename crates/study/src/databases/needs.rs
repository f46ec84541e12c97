//! What this machine must have, before anything starts.

use crate::published::{PublishedError, Result};
use evenkeel_os::tools;
use evenkeel_site::sandbox;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;

/// Programs and their packages.
const PROGRAMS: [(&str, &str); 6] = [
    ("losetup", "mount"),
    ("mount", "mount"),
    ("umount", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("blkid", "util-linux"),
    ("cp", "coreutils"),
];

pub fn check() -> Result<()> {
    sandbox::check_server(None)?;
    let opens = |path| OpenOptions::new().read(true).write(true).open(path).is_ok();
    // The owner of a process is its effective user.
    let is_root = fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    let devices = "load the kernel's modules (modprobe fuse loop), and let a container use the devices";
    let mut missing = Vec::new();
    for (is_there, what, remedy) in [
        (is_root, "not root, and only root can mount", "run it as root"),
        (opens("/dev/fuse"), "/dev/fuse cannot be opened", devices),
        (fs::exists("/dev/loop-control").unwrap_or(false), "there are no loop devices", devices),
    ] {
        missing.extend((!is_there).then(|| (what.to_owned(), remedy.to_owned())));
    }
    for (program, package) in PROGRAMS.iter().filter(|(program, _)| !tools::is_there(program)) {
        missing.push((format!("no {program}"), format!("apt install {package}")));
    }
    let (what, mut remedies): (Vec<String>, Vec<String>) = missing.into_iter().unzip();
    remedies.dedup();
    match what.is_empty() {
        true => Ok(()),
        false => Err(PublishedError::with_hint(
            format!("databases on mounted disks are not possible here: {}", what.join("; ")),
            remedies.join("; "),
        )),
    }
}
