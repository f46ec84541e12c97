//! What is behind the disks of a configuration.

use crate::config::share::{DiskConfig, ShareConfig};
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::random::Seed;
use evenkeel_gate::share::backing::simulated::Simulated;
use evenkeel_gate::share::backing::{FileBacking, FileOptions, VolatileBacking, VolatileOptions};
use evenkeel_gate::share::{Backing, DiskPlan};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Opens all of them.
pub fn open(config: &ShareConfig) -> Result<Vec<DiskPlan>> {
    config.disks.iter().map(|disk| open_one(disk, config)).collect()
}

/// Opens one of them.
pub fn open_one(disk: &DiskConfig, config: &ShareConfig) -> Result<DiskPlan> {
    let slots = config.bus.address.as_deref().and_then(|address| address.strip_prefix("slot:"));
    let refused = "it is the slot file of --bus: the disk's writes would go over what hosts tell each other";
    if slots.is_some_and(|slots| are_one(Path::new(slots), Path::new(&disk.backing))) {
        return Err(anyhow!("{}: {refused}", disk.backing.display()))
            .with_context(|| format!("opening disk `{}`", disk.name));
    }
    let backing = one(disk).with_context(|| format!("opening disk `{}`", disk.name))?;
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

fn one(disk: &DiskConfig) -> Result<Box<dyn Backing>> {
    if let Some(size) = disk.size {
        make(disk, size)?;
    }
    let options = FileOptions { direct: disk.direct, read_only: disk.read_only, ..FileOptions::default() };
    let file: Box<dyn Backing> = match disk.volatile {
        false => Box::new(FileBacking::open(&disk.backing, options)?),
        true => {
            let cache = VolatileOptions { ignore_flush: disk.ignore_flush, ..VolatileOptions::default() };
            Box::new(VolatileBacking::open(&disk.backing, options, cache)?)
        }
    };
    match &disk.simulated {
        None => Ok(file),
        // Hosts on one array draw other service times; the same host draws the same again.
        Some(path) => {
            let opened = Simulated::open(path, file, Seed(1).child(&disk.name));
            Ok(Box::new(opened.hint("evenkeel share array FILE makes one")?))
        }
    }
}

/// A file that is missing, of this size and without any block.
fn make(disk: &DiskConfig, size: u64) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(&disk.backing) {
        Ok(file) => file.set_len(size).with_context(|| format!("making {}", disk.backing.display())),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).with_context(|| format!("making {}", disk.backing.display())),
    }
}
