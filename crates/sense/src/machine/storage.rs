//! A data directory lies on a file system and a device, which are found here.

use crate::disk::Device;
use crate::mounts::Mount;
use std::path::Path;

/// File system and device below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// `ext4`, `xfs`, `overlay`, `tmpfs` ...
    pub file_system: String,
    /// Options of the mount and of the file system, each once: `rw,noatime,discard` say.
    pub options: String,
    /// What is mounted there, a device file mostly.
    pub source: String,
    /// The block device; `None` where no single one holds the path.
    pub device: Option<Device>,
}

impl Storage {
    /// Of a path; of what does not exist, of the nearest folder above. `None` without /proc.
    pub fn of_path(path: &Path) -> Option<Self> {
        let path = crate::disk::existing(path)?;
        let mut storage = Self::find(&path, &Mount::all())?;
        storage.device = Device::of_path(&path);
        Some(storage)
    }

    fn find(path: &Path, mounts: &[Mount]) -> Option<Self> {
        let mount = Mount::of(mounts, path)?;
        Some(Self {
            file_system: mount.file_system.clone(),
            options: merge(&mount.options, &mount.super_options),
            source: mount.source.clone(),
            device: None,
        })
    }
}

/// Options of both kinds. A read-only mount of a writable file system is read-only.
fn merge(mount: &str, file_system: &str) -> String {
    let own: Vec<&str> = mount.split(',').collect();
    let more =
        file_system.split(',').filter(|word| !own.contains(word) && !matches!(*word, "rw" | "ro" | ""));
    own.iter().copied().chain(more).collect::<Vec<_>>().join(",")
}
