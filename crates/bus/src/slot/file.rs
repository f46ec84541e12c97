//! A slot file is open here: it is read as a whole and written block by block.

use super::make::{self, BLOCK, slots_in};
use crate::BusError;
use evenkeel_core::Nanos;
use evenkeel_os::Buffer;
use evenkeel_os::clock::Clock;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for the lock on claims, and from one try to the next.
const LOCK: (Nanos, Duration) = (Nanos::from_secs(10), Duration::from_millis(10));

#[derive(Debug)]
pub struct SlotFile {
    path: PathBuf,
    file: File,
    slots: usize,
    direct: bool,
    buffer: Buffer,
}

impl SlotFile {
    /// Opens a file, or makes it with as many slots where there is none; `None` makes nothing.
    pub fn open(path: &Path, slots: Option<usize>) -> Result<Self, BusError> {
        let failed = |error| BusError::File { path: path.to_owned(), error };
        slots.map_or(Ok(()), make::check)?;
        match (std::fs::metadata(path), slots) {
            (Ok(about), _) if !about.is_file() && !about.file_type().is_block_device() => {
                let why = "it is neither a file nor a block device";
                return Err(BusError::NotSlots { path: path.to_owned(), why });
            }
            (Err(error), Some(slots)) if error.kind() == io::ErrorKind::NotFound => {
                make::make_file(path, slots).map_err(failed)?;
            }
            _ => {}
        }
        let plain = options().open(path).map_err(failed)?;
        let slots = slots_of(&plain, path)?;
        let buffer = Buffer::zeroed((slots + 1) * BLOCK);
        let this = Self { path: path.to_owned(), file: plain, slots, direct: false, buffer };
        this.go_direct().map_err(failed)
    }

    /// Past the caches where the file system lets us; else what is written is on the storage before the next step.
    fn go_direct(mut self) -> io::Result<Self> {
        let direct = options().custom_flags(libc::O_DIRECT | libc::O_CLOEXEC).open(&self.path);
        if let Ok(file) = direct
            && file.read_exact_at(self.buffer.as_mut_slice(), 0).is_ok()
        {
            (self.file, self.direct) = (file, true);
            return Ok(self);
        }
        self.file = options().custom_flags(libc::O_DSYNC | libc::O_CLOEXEC).open(&self.path)?;
        Ok(self)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Whether reads and writes go past the caches of this host.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether another file stands at its path now.
    pub fn is_replaced(&self) -> bool {
        let name = |about: Metadata| (about.dev(), about.ino());
        let (there, here) = (std::fs::metadata(&self.path).map(name), self.file.metadata().map(name));
        !matches!((there, here), (Ok(there), Ok(here)) if there == here)
    }

    /// All slots, with one read.
    pub fn read(&mut self) -> Result<impl Iterator<Item = &[u8]>, BusError> {
        let read = self.file.read_exact_at(self.buffer.as_mut_slice(), 0);
        read.map_err(|error| BusError::File { path: self.path.clone(), error })?;
        Ok(self.buffer.as_slice().chunks_exact(BLOCK).skip(1))
    }

    /// A slot as it was read last.
    pub fn block(&self, slot: usize) -> &[u8] {
        &self.buffer.as_slice()[(slot + 1) * BLOCK..][..BLOCK]
    }

    pub fn write(&self, slot: usize, bytes: &[u8]) -> Result<(), BusError> {
        let mut block = Buffer::zeroed(BLOCK);
        block.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
        let written = self.file.write_all_at(block.as_slice(), ((slot + 1) * BLOCK) as u64);
        written.map_err(|error| BusError::File { path: self.path.clone(), error })
    }

    /// Nobody else claims a slot for as long as this is held.
    pub fn lock(&self) -> Result<Locked, BusError> {
        Locked::new(&self.file, &self.path)
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options
}

/// How many slots an open file says that it has.
fn slots_of(mut file: &File, path: &Path) -> Result<usize, BusError> {
    let failed = |error| BusError::File { path: path.to_owned(), error };
    let not = |why| BusError::NotSlots { path: path.to_owned(), why };
    // A block device has a length too, which is found only at its end.
    let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    if length < BLOCK as u64 {
        return Err(not(if length == 0 { "it is empty" } else { "it is too short" }));
    }
    let mut first = vec![0; BLOCK];
    file.read_exact_at(&mut first, 0).map_err(failed)?;
    let is_device = file.metadata().map_err(failed)?.file_type().is_block_device();
    match slots_in(&first) {
        Some(slots) if length < ((slots + 1) * BLOCK) as u64 => {
            Err(not("it is shorter than its header says"))
        }
        Some(slots) => Ok(slots),
        None if is_device => Err(BusError::Device(path.to_owned())),
        None => Err(not("its header is another one")),
    }
}

/// The lock; given back when this is dropped.
#[derive(Debug)]
pub struct Locked(File);

impl Locked {
    /// Waits for it, not for ever. Where the file system has no locks, claims are found out by reading them back.
    fn new(file: &File, path: &Path) -> Result<Self, BusError> {
        let file = file.try_clone().map_err(|error| BusError::File { path: path.to_owned(), error })?;
        let clock = Clock::start();
        while matches!(evenkeel_os::try_lock(file.as_fd()), Ok(false)) {
            if clock.now() > LOCK.0 {
                return Err(BusError::Locked(path.to_owned()));
            }
            std::thread::sleep(LOCK.1);
        }
        Ok(Self(file))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        evenkeel_os::unlock(self.0.as_fd());
    }
}
