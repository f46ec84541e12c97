//! A disk whose cache forgets at a power cut, and that may lie about flushes. It is a file, served by a process that can be killed.

use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::share::Costs;
use evenkeel_os::file::{Space, allocate};
use evenkeel_share::{Answer, Backing, Buffer, DiskPlan, Ended, Engine, FuseDisk, FuseFront, Plan, Work};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Blocks of 4 KiB that the cache holds.
const BLOCKS: usize = 16_384;

/// Shows the disk `folder/disk` as `folder/served/disk`, by FUSE, until the standard input ends. In order nothing is lost; where this
/// process is killed, what was not flushed.
/// Errors: the file cannot be opened, or the folder is not there or cannot be mounted on.
pub fn serve(folder: &Path, lies: bool) -> Result<()> {
    let backing = VolatileBacking::open(&folder.join("disk"), BLOCKS, lies)?;
    let bytes = backing.bytes();
    let disk = DiskPlan { name: "disk".to_owned(), shares: 1.0, backing: Box::new(backing) };
    let plan = Plan { disks: vec![disk], window: f64::INFINITY, costs: Costs::default(), memory: 1 << 20 };
    let engine = Engine::start(plan)?;
    let shown = FuseDisk { disk: 0, name: "disk".to_owned(), bytes, read_only: false };
    let mut front = FuseFront::mount(engine.handle(), shown, &folder.join("served"))?;
    io::stdin().read_to_end(&mut Vec::new())?;
    front.unmount()?;
    engine.stop()?;
    Ok(())
}

/// Bytes that are on the disk together or not at all.
const BLOCK: u64 = 4_096;
/// How often a write brings another block to the disk.
const WRITE_THROUGH: f64 = 0.2;

struct VolatileBacking {
    file: File,
    bytes: u64,
    /// Blocks that are not on the disk, each as a whole, by their place.
    cache: BTreeMap<u64, Buffer>,
    /// Blocks that the cache holds; above that some are written through.
    blocks: usize,
    random: Random,
    /// It says "done" to flushes and durable writes and does nothing: a disk that lies.
    lies: bool,
    ended: Vec<Ended>,
    /// When the last of these was started.
    started: Nanos,
}

impl VolatileBacking {
    fn open(path: &Path, blocks: usize, lies: bool) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = file.metadata()?.len();
        let (cache, random) = (BTreeMap::new(), Random::new(Seed(1)));
        Ok(Self { file, bytes, cache, blocks, random, lies, ended: Vec::new(), started: Nanos::ZERO })
    }

    fn perform(&mut self, work: Work) -> Answer {
        match work {
            Work::Read { offset, mut buffer } => {
                self.file.read_exact_at(buffer.as_mut_slice(), offset)?;
                let end = offset + buffer.len() as u64;
                for (&place, block) in self.cache.range(offset / BLOCK..end.div_ceil(BLOCK)) {
                    let start = place * BLOCK;
                    let (from, to) = (offset.max(start), end.min(start + block.len() as u64));
                    buffer.as_mut_slice()[(from - offset) as usize..(to - offset) as usize]
                        .copy_from_slice(&block.as_slice()[(from - start) as usize..(to - start) as usize]);
                }
                return Ok(buffer);
            }
            Work::Write { offset, buffer, durable } => {
                self.write(offset, buffer.as_slice(), durable && !self.lies)?;
                return Ok(buffer);
            }
            Work::Flush if self.lies => {}
            Work::Flush => self.flush()?,
            // At once in the file: a cache may do so at any time.
            Work::Trim { offset, bytes } | Work::Zero { offset, bytes, .. } => {
                let end = offset + bytes;
                let touched = self.cache.range(offset / BLOCK..end.div_ceil(BLOCK));
                for place in touched.map(|(&place, _)| place).collect::<Vec<_>>() {
                    self.write_through(place)?;
                }
                if bytes > 0 {
                    allocate(&self.file, Space::Punch, offset, bytes)?;
                }
            }
        }
        Ok(Buffer::default())
    }

    fn write(&mut self, offset: u64, bytes: &[u8], durable: bool) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        let mut at = offset;
        while at < end {
            let place = at / BLOCK;
            let to = end.min((place + 1) * BLOCK);
            self.change(place, at - place * BLOCK, &bytes[(at - offset) as usize..(to - offset) as usize])?;
            if durable {
                self.write_through(place)?;
            }
            at = to;
        }
        if durable {
            self.file.sync_data()?;
        }
        self.write_some_through()
    }

    fn change(&mut self, place: u64, from: u64, bytes: &[u8]) -> io::Result<()> {
        let mut block = match self.cache.remove(&place) {
            Some(block) => block,
            None => {
                let mut block = Buffer::zeroed(BLOCK.min(self.bytes - place * BLOCK) as usize);
                self.file.read_exact_at(block.as_mut_slice(), place * BLOCK)?;
                block
            }
        };
        block.as_mut_slice()[from as usize..][..bytes.len()].copy_from_slice(bytes);
        self.cache.insert(place, block);
        Ok(())
    }

    fn write_through(&mut self, place: u64) -> io::Result<()> {
        let Some(block) = self.cache.remove(&place) else { return Ok(()) };
        self.file.write_all_at(block.as_slice(), place * BLOCK)
    }

    fn write_some_through(&mut self) -> io::Result<()> {
        if self.random.chance(WRITE_THROUGH)
            && let Some(place) = self.any()
        {
            self.write_through(place)?;
        }
        while self.cache.len() > self.blocks {
            let Some(place) = self.any() else { break };
            self.write_through(place)?;
        }
        Ok(())
    }

    /// A block at random, of those that are in the cache.
    fn any(&mut self) -> Option<u64> {
        let (&first, &last) = (self.cache.first_key_value()?.0, self.cache.last_key_value()?.0);
        let from = self.random.uniform(first, last);
        self.cache.range(from..).next().map(|(&place, _)| place)
    }

    /// Writes all blocks to the disk, in any order.
    fn flush(&mut self) -> io::Result<()> {
        while let Some(place) = self.any() {
            self.write_through(place)?;
        }
        self.file.sync_data()
    }
}

impl Drop for VolatileBacking {
    fn drop(&mut self) {
        // Whoever switches a disk off in order loses nothing.
        let _ = self.flush();
    }
}

impl Backing for VolatileBacking {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_read_only(&self) -> bool {
        false
    }

    /// Done at once: nobody measures this disk.
    fn start(&mut self, id: u64, work: Work, now: Nanos) {
        let answer = self.perform(work);
        self.started = now;
        self.ended.push(Ended { id, answer });
    }

    fn push(&mut self, _: Nanos) -> io::Result<()> {
        Ok(())
    }

    fn collect(&mut self, _: Nanos, ended: &mut Vec<Ended>) {
        ended.append(&mut self.ended);
    }

    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn due(&self) -> Option<Nanos> {
        (!self.ended.is_empty()).then_some(self.started)
    }
}
