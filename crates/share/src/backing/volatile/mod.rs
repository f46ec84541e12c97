//! A file behind a cache that forgets at a power cut, as the caches of disks do.
//!
//! A write is answered when it is in memory. A flush brings what is there to the file, a durable write only itself. In
//! between a coin brings blocks there in any order. Killing the process is the power cut: what the file has then is what a
//! disk would have. For tests of those who must survive that.

mod cache;

use super::file::open::Opened;
use super::pool::{Perform, Pool};
use super::{Backing, Ended, FileError, FileOptions};
use crate::holes::all_data;
use crate::{Answer, Buffer, Errno, Work};
use cache::{BLOCK, Cache};
use evenkeel_core::Nanos;
use evenkeel_os::Wake;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often a write brings another block to the disk.
const WRITE_THROUGH: f64 = 0.2;

/// How the cache forgets.
#[derive(Clone, Copy, Debug)]
pub struct VolatileOptions {
    /// Seed of the coin that decides what is lost.
    pub seed: u64,
    /// Blocks of 4 KiB that it holds; above that the oldest are written through.
    pub blocks: usize,
    /// It says "done" to flushes and durable writes and does nothing: a disk that lies.
    pub ignore_flush: bool,
}

impl Default for VolatileOptions {
    fn default() -> Self {
        Self { seed: 1, blocks: 16_384, ignore_flush: false }
    }
}

/// A file with a cache that a power cut empties. One work is done at a time.
pub struct VolatileBacking {
    disk: Arc<Disk>,
    pool: Pool,
    wake: Arc<Wake>,
}

impl VolatileBacking {
    /// Opens a file as [`FileBacking`](super::FileBacking) does; who does the I/O is not asked.
    pub fn open(path: &Path, file: FileOptions, options: VolatileOptions) -> Result<Self, FileError> {
        let failed = |error| FileError::Open { path: path.to_owned(), error };
        let file = Opened::open(path, file.direct, file.read_only)?;
        let cache = Mutex::new(Cache::new(options.seed));
        let disk = Arc::new(Disk { file, cache, options });
        let wake = Arc::new(Wake::new().map_err(failed)?);
        let pool = Pool::new(disk.clone(), wake.clone(), 1).map_err(failed)?;
        Ok(Self { disk, pool, wake })
    }
}

impl Backing for VolatileBacking {
    fn bytes(&self) -> u64 {
        self.disk.file.bytes
    }

    fn is_read_only(&self) -> bool {
        self.disk.file.read_only
    }

    fn look(&mut self) {
        self.disk.file.look();
    }

    fn lost(&self) -> Option<Errno> {
        self.disk.file.lost()
    }

    fn executor(&self) -> String {
        "a cache that forgets".to_owned()
    }

    fn start(&mut self, id: u64, work: Work, _: Nanos) {
        self.pool.start(id, work);
    }

    fn push(&mut self, _: Nanos) -> io::Result<()> {
        Ok(())
    }

    fn collect(&mut self, _: Nanos, ended: &mut Vec<Ended>) {
        self.pool.collect(ended);
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.wake.as_raw_fd())
    }
}

struct Disk {
    file: Opened,
    cache: Mutex<Cache>,
    options: VolatileOptions,
}

impl Perform for Disk {
    fn perform(&self, work: Work) -> Answer {
        match work {
            Work::Read { offset, buffer } => {
                let mut buffer = self.file.perform(Work::Read { offset, buffer })?;
                self.cache().overlay(offset, buffer.as_mut_slice());
                Ok(buffer)
            }
            Work::Write { offset, buffer, durable } => {
                self.write(offset, buffer.as_slice(), durable && !self.options.ignore_flush)?;
                Ok(buffer)
            }
            Work::Flush if self.options.ignore_flush => Ok(Buffer::default()),
            Work::Flush => self.flush(),
            // What is in the cache the file does not know; nobody asks.
            Work::Holes { offset, bytes, buffer } => all_data(buffer, (offset, bytes)),
            // At once in the file: a cache may do so at any time.
            Work::Trim { offset, bytes } | Work::Zero { offset, bytes, .. } => {
                self.cache().clear(offset, bytes);
                self.file.perform(work)
            }
        }
    }
}

impl Disk {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, offset: u64, bytes: &[u8], durable: bool) -> Result<(), Errno> {
        let end = offset + bytes.len() as u64;
        let mut at = offset;
        while at < end {
            let place = at / BLOCK;
            let to = end.min((place + 1) * BLOCK);
            self.change(place, at - place * BLOCK, &bytes[(at - offset) as usize..(to - offset) as usize])?;
            if durable {
                self.write_through(place, true)?;
            }
            at = to;
        }
        self.write_some_through()
    }

    fn change(&self, place: u64, from: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut cache = self.cache();
        let mut block = match cache.take(place) {
            Some(block) => block,
            None => {
                let offset = place * BLOCK;
                let buffer = Buffer::zeroed(BLOCK.min(self.file.bytes - offset) as usize);
                let whole = bytes.len() == buffer.len();
                if whole { buffer } else { self.file.perform(Work::Read { offset, buffer })? }
            }
        };
        block.as_mut_slice()[from as usize..][..bytes.len()].copy_from_slice(bytes);
        cache.put(place, block);
        Ok(())
    }

    fn write_through(&self, place: u64, durable: bool) -> Result<(), Errno> {
        let Some(buffer) = self.cache().take(place) else { return Ok(()) };
        self.file.perform(Work::Write { offset: place * BLOCK, buffer, durable }).map(drop)
    }

    fn write_some_through(&self) -> Result<(), Errno> {
        let lucky = {
            let mut cache = self.cache();
            if cache.coin(WRITE_THROUGH) { cache.any() } else { None }
        };
        if let Some(place) = lucky {
            self.write_through(place, false)?;
        }
        while self.cache().len() > self.options.blocks {
            let Some(oldest) = self.cache().oldest() else { break };
            self.write_through(oldest, false)?;
        }
        Ok(())
    }

    /// Writes all blocks to the disk, in any order.
    fn flush(&self) -> Answer {
        loop {
            let Some(place) = self.cache().any() else { return self.file.perform(Work::Flush) };
            self.write_through(place, false)?;
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever switches a disk off in order loses nothing; nobody is left who could see an error.
        if !self.file.read_only {
            let _ = self.flush();
        }
    }
}

#[cfg(test)]
mod tests;
