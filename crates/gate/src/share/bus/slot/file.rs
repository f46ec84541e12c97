//! The file: a header block, then a block for each member.

use super::BusError;
use crate::clock::Clock;
use crate::share::Buffer;
use crate::sys;
use evenkeel_core::Nanos;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a block.
pub const BLOCK: usize = 4_096;
/// Most slots that a file may have.
pub const SLOTS_MAX: usize = 1_024;

/// The header begins with this; then slots u32, little-endian, and a CRC-32 of both.
const MAGIC: &[u8; 16] = b"evenkeel slots 1";
/// Longest wait for the lock on claims, and from one try to the next.
const LOCK: (Nanos, Duration) = (Nanos::from_secs(10), Duration::from_millis(10));

/// An open slot file.
#[derive(Debug)]
pub struct SlotFile {
    path: PathBuf,
    file: File,
    slots: usize,
    direct: bool,
    buffer: Buffer,
}

impl SlotFile {
    /// Opens a file, or makes it with as many slots where there is none. Nothing is made where none are asked for.
    ///
    /// # Errors
    /// It cannot be opened, read or written; it is something else.
    pub fn open(path: &Path, slots: usize) -> Result<Self, BusError> {
        let makes = slots > 0;
        let failed = |error| BusError::File { path: path.to_owned(), error };
        let not = |why| BusError::NotSlots { path: path.to_owned(), why };
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.file_type().is_block_device())
        {
            return Err(not("it is neither a file nor a block device"));
        }
        let slots = slots.clamp(1, SLOTS_MAX);
        let plain = options().create(makes).truncate(false).mode(0o660).open(path).map_err(failed)?;
        let guard = Locked::new(&plain, path)?;
        let slots =
            prepare(&plain, slots).map_err(failed)?.ok_or_else(|| not("its header is another one"))?;
        drop(guard);
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many slots it has.
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

    /// Writes one slot.
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

/// Writes the header and empty slots where there are none yet; how many slots there are, `None` where it is another file.
fn prepare(mut file: &File, slots: usize) -> io::Result<Option<usize>> {
    // A block device has a length too, which only its end tells.
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    let mut first = vec![0; BLOCK];
    if length > 0 && length < BLOCK as u64 {
        return Ok(None);
    }
    if length > 0 {
        file.read_exact(&mut first)?;
    }
    let is_device = file.metadata()?.file_type().is_block_device();
    if length == 0 || (is_device && first.iter().all(|byte| *byte == 0)) {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header(slots))?;
        (0..slots).try_for_each(|_| file.write_all(&[0; BLOCK]))?;
        file.sync_all()?;
        return Ok(Some(slots));
    }
    let slots = u32::from_le_bytes([first[16], first[17], first[18], first[19]]) as usize;
    let fits = (1..=SLOTS_MAX).contains(&slots) && length >= ((slots + 1) * BLOCK) as u64;
    Ok((fits && first[..24] == header(slots)[..24]).then_some(slots))
}

fn header(slots: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK);
    block.extend(MAGIC);
    block.extend((slots as u32).to_le_bytes());
    block.extend(crc32fast::hash(&block).to_le_bytes());
    block.resize(BLOCK, 0);
    block
}

/// The lock; given back when this is dropped.
#[derive(Debug)]
pub struct Locked(File);

impl Locked {
    /// Waits for it, not for ever. Where the file system has no locks, claims are found out by reading them back.
    fn new(file: &File, path: &Path) -> Result<Self, BusError> {
        let file = file.try_clone().map_err(|error| BusError::File { path: path.to_owned(), error })?;
        let clock = Clock::start();
        while matches!(sys::try_lock(file.as_fd()), Ok(false)) {
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
        sys::unlock(self.0.as_fd());
    }
}
