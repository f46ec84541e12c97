//! What is behind the disks of a configuration.

use crate::config::share::{DiskConfig, ShareConfig};
use crate::failure::WithHint;
use anyhow::{Context, Result};
use evenkeel_core::random::Seed;
use evenkeel_gate::share::backing::simulated::Simulated;
use evenkeel_gate::share::backing::{FileBacking, FileOptions, VolatileBacking, VolatileOptions};
use evenkeel_gate::share::{Backing, DiskPlan};
use std::fs::OpenOptions;
use std::io::ErrorKind;

/// Opens all of them.
pub fn open(config: &ShareConfig) -> Result<Vec<DiskPlan>> {
    config.disks.iter().map(open_one).collect()
}

/// Opens one of them.
pub fn open_one(disk: &DiskConfig) -> Result<DiskPlan> {
    let backing = one(disk).with_context(|| format!("opening disk `{}`", disk.name))?;
    Ok(DiskPlan { name: disk.name.clone(), shares: disk.share, backing })
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
