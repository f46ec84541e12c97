//! The backings of the disks of a configuration.

use crate::config::share::{DiskConfig, ShareConfig};
use crate::config::types::Size;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::random::Seed;
use evenkeel_share::backing::simulated::{self, ArrayError, Simulated};
use evenkeel_share::backing::{FileBacking, FileOptions};
use evenkeel_share::{Backing, DiskPlan};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files that were made for disks that nobody is served from yet: they go with it, unless they are kept.
#[derive(Debug, Default)]
#[must_use]
pub struct Made(Vec<PathBuf>);

impl Made {
    /// Keeps the files, because from here on clients may have written to them.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.0 {
            // Where this fails it is as if somebody had made it before.
            let _ = std::fs::remove_file(path);
        }
    }
}

pub fn open(config: &ShareConfig) -> Result<(Vec<DiskPlan>, Made)> {
    let mut made = Made::default();
    let disks = config.disks.iter().map(|disk| open_one(disk, config, &mut made)).collect::<Result<_>>()?;
    Ok((disks, made))
}

/// Refuses a simulated array that is not there.
pub fn check(config: &ShareConfig) -> Result<()> {
    let mut arrays = config.disks.iter().filter_map(|disk| disk.simulated.as_deref());
    arrays.try_for_each(|path| of_array(path, simulated::open(path)).map(drop))
}

fn of_array<T>(path: &Path, opened: Result<T, ArrayError>) -> Result<T> {
    opened.hint(format!("`evenkeel share array {}` makes one", path.display()))
}

fn open_one(disk: &DiskConfig, config: &ShareConfig, made: &mut Made) -> Result<DiskPlan> {
    let slots = config.bus.address.as_deref().and_then(|address| address.strip_prefix("slot:"));
    let refused = "it is the slot file of --bus: the disk's writes would overwrite the hosts' reports";
    if slots.is_some_and(|slots| are_one(Path::new(slots), Path::new(&disk.backing))) {
        return Err(anyhow!("{}: {refused}", disk.backing.display()))
            .with_context(|| format!("opening disk `{}`", disk.name));
    }
    let backing = one(disk, made).with_context(|| format!("opening disk `{}`", disk.name))?;
    Ok(DiskPlan { name: disk.name.clone(), shares: disk.share, backing })
}

/// Whether two paths lead to the same file, or to the same device.
fn are_one(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let about = std::fs::metadata(path).ok()?;
        let is_device = about.file_type().is_block_device();
        Some(if is_device { (true, about.rdev(), 0) } else { (false, about.dev(), about.ino()) })
    };
    place(one).is_some_and(|found| place(other) == Some(found))
}

fn one(disk: &DiskConfig, made: &mut Made) -> Result<Box<dyn Backing>> {
    if let Some(Size(bytes)) = disk.size
        && make(disk, bytes)?
    {
        made.0.push(disk.backing.clone());
    }
    let options = FileOptions { direct: disk.direct, read_only: disk.read_only, ..FileOptions::default() };
    let file: Box<dyn Backing> = Box::new(FileBacking::open(&disk.backing, options)?);
    match &disk.simulated {
        None => Ok(file),
        // Hosts on one array draw other service times; the same host draws the same again.
        Some(path) => {
            let opened = Simulated::open(path, file, Seed(1).child(&disk.name));
            Ok(Box::new(of_array(path, opened)?))
        }
    }
}

/// Makes a file of this size where it is missing, without any block, which nobody else may read. A file that cannot have its
/// size is not left behind. Whether it was missing.
fn make(disk: &DiskConfig, size: u64) -> Result<bool> {
    let made = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&disk.backing) {
        Ok(file) => {
            let sized = file.set_len(size).inspect_err(|_| drop(std::fs::remove_file(&disk.backing)));
            sized.map(|()| true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    };
    made.with_context(|| format!("making {} of {size} bytes", disk.backing.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_is_made_is_its_owner_s_alone_and_one_that_is_too_large_is_not_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let disk = DiskConfig::new("d", &path);
        assert!(make(&disk, u64::MAX).is_err());
        assert!(!path.exists(), "the next start would say that it is too small");
        assert!(make(&disk, 1 << 20).unwrap());
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.len(), found.permissions().mode() & 0o777), (1 << 20, 0o600));
        assert!(!make(&disk, 2 << 20).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20, "one that is there stays as it is");
    }
}
