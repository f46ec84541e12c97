//! A path lies on a block device, which is found here.

use crate::mounts::Mount;
use crate::text;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A block device: a disk, a partition, a logical volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Major and minor number.
    pub number: (u32, u32),
    /// `vda1`, `dm-0` ...
    pub name: String,
    /// Whether the kernel takes it for one that turns. A hypervisor may hide the truth.
    pub rotational: Option<bool>,
}

impl Device {
    /// The device that holds a path (or would: of what does not exist, the nearest folder above).
    /// `None` where no single one does: tmpfs, overlay, NFS, ZFS, a btrfs whose device cannot be seen.
    pub fn of_path(path: &Path) -> Option<Self> {
        let path = existing(path)?;
        let number = split(std::fs::metadata(&path).ok()?.st_dev());
        Self::find(number).or_else(|| Self::find(source_of(&path, &Mount::all())?))
    }

    /// Number of the disk that it is, or is a partition of: the kernel holds back whole disks alone.
    pub fn whole(&self) -> (u32, u32) {
        let folder = PathBuf::from(format!("/sys/dev/block/{}:{}", self.number.0, self.number.1));
        let Ok(folder) = folder.canonicalize() else { return self.number };
        if !folder.join("partition").exists() {
            return self.number;
        }
        let above = folder.parent().and_then(|disk| text::read_line(disk.join("dev")));
        let number = above.as_deref().and_then(|text| text.split_once(':'));
        number
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
            .unwrap_or(self.number)
    }

    /// A device by its number; major 0 is never one.
    fn find(number: (u32, u32)) -> Option<Self> {
        let folder = PathBuf::from(format!("/sys/dev/block/{}:{}", number.0, number.1));
        let folder = folder.canonicalize().ok().filter(|_| number.0 != 0)?;
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(Self { number, name, rotational: rotational(&folder) })
    }
}

/// The path itself or the nearest folder above it that exists, without symbolic links.
pub(crate) fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|path| path.canonicalize().ok())
}

/// Of a file system that numbers its own devices (btrfs), the device file that was mounted.
fn source_of(path: &Path, mounts: &[Mount]) -> Option<(u32, u32)> {
    let source = Path::new(&Mount::of(mounts, path)?.source);
    if !source.starts_with("/dev") {
        return None;
    }
    Some(split(std::fs::metadata(source).ok()?.st_rdev()))
}

/// Major and minor out of the kernel's packed number.
fn split(device: u64) -> (u32, u32) {
    (libc::major(device), libc::minor(device))
}

/// The flag is in the folder of the disk, which for a partition is the one above.
fn rotational(folder: &Path) -> Option<bool> {
    let flag = |folder: &Path| text::read_line(folder.join("queue/rotational"));
    let flag = flag(folder).or_else(|| flag(folder.parent()?))?;
    match flag.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::left_out::left_out;

    #[test]
    fn what_does_not_exist_is_looked_up_above() {
        assert_eq!(existing(Path::new("/proc/no such/folder")), Some("/proc".into()));
        assert_eq!(existing(Path::new("/")), Some("/".into()));
        assert_eq!(existing(Path::new("")), None);
    }

    #[test]
    fn the_device_of_a_folder_is_in_diskstats_or_not_available() {
        let Some(device) = Device::of_path(Path::new("/")) else {
            return left_out("the folder / is on no device of this machine");
        };
        assert!(!device.name.is_empty() && device.number.0 > 0);
        assert!(super::super::DeviceIo::read(device.number).is_some(), "{device:?}");
    }

    #[test]
    fn the_source_of_a_mount_counts_only_where_it_is_a_device_file() {
        let mount =
            |source: &str| vec![Mount::parse(&format!("1 1 0:50 / / rw - overlay {source} rw")).remove(0)];
        assert_eq!(source_of(Path::new("/x"), &mount("overlay")), None);
        assert_eq!(source_of(Path::new("/x"), &mount("/dev/no such")), None);
        assert_eq!(source_of(Path::new("/x"), &mount("/dev/null")), Some((1, 3)));
    }
}
