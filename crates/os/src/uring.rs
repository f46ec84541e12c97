//! Reads, writes and flushes of one file go by io_uring: many are started in one call, and the kernel does them.

use super::Wake;
use crate::Work;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, Probe, opcode, squeue};
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Entries handed over in one call.
const ENTRIES: u32 = 256;
/// Completions that the kernel keeps until they are taken; no more than these are under way, so that none is ever late.
const COMPLETIONS: u32 = 8_192;
/// Bytes that one entry moves at most, below what the kernel takes in one call.
const ENTRY_BYTES: usize = 1 << 30;

pub struct Completed {
    pub id: u64,
    pub work: Work,
    pub from: usize,
    pub result: io::Result<usize>,
}

struct Slot {
    id: u64,
    work: Work,
    from: usize,
}

/// A ring, and the works that it owns until the kernel is done with them.
pub struct Ring {
    ring: IoUring,
    file: Arc<dyn AsRawFd + Send + Sync>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    waiting: VecDeque<usize>,
    /// Handed over, and not yet back.
    under_way: usize,
    most: usize,
    /// A durable write is one with its sync; else the sync is asked for by itself.
    at_once: bool,
}

/// Whether the kernel has a ring for files that this process may use.
pub fn try_ring() -> io::Result<()> {
    let file = std::fs::File::open("/proc/self/stat")?;
    Ring::new(Arc::new(file), &Wake::new()?, false).map(drop)
}

impl Ring {
    /// One that wakes by `wake` when something has ended. `at_once`: durable writes are written and synced in one.
    pub fn new(file: Arc<dyn AsRawFd + Send + Sync>, wake: &Wake, at_once: bool) -> io::Result<Self> {
        let ring = IoUring::builder().setup_cqsize(COMPLETIONS).setup_clamp().build(ENTRIES)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE];
        if !needed.iter().all(|&code| probe.is_supported(code)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        ring.submitter().register_eventfd(wake.as_raw_fd())?;
        let most = ring.params().cq_entries() as usize;
        let (slots, free, waiting) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Self { ring, file, slots, free, waiting, under_way: 0, most, at_once })
    }

    /// Takes a read, a write or a flush; `from` bytes of its buffer are done already. Of a durable write that is all of them
    /// where it is to be synced. Anything else is given back.
    pub fn start(&mut self, id: u64, work: Work, from: usize) -> Result<(), Work> {
        if matches!(work, Work::Trim { .. } | Work::Zero { .. }) {
            return Err(work);
        }
        let slot = Some(Slot { id, work, from });
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.waiting.push_back(place);
        Ok(())
    }

    /// Hands over what was started; false where the kernel takes no more just now.
    pub fn push(&mut self) -> io::Result<bool> {
        loop {
            self.fill();
            if self.ring.submission().is_empty() {
                return Ok(self.waiting.is_empty());
            }
            match self.submit() {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What ends while it is handed over wakes nobody: whoever pushes collects afterwards.
    fn submit(&mut self) -> io::Result<usize> {
        self.ring.completion().disable_eventfd();
        let submitted = self.ring.submit();
        self.ring.completion().enable_eventfd();
        // Nothing that ended before the enabling may be missed by a look at the queue after it.
        fence(Ordering::SeqCst);
        submitted
    }

    /// Puts entries into the queue while there is room.
    fn fill(&mut self) {
        let fd = Fd(self.file.as_raw_fd());
        let mut queue = self.ring.submission();
        while self.under_way < self.most && !queue.is_full() {
            let Some(place) = self.waiting.pop_front() else { return };
            let Some(slot) = &mut self.slots[place] else { continue };
            let entry = entry(fd, slot, self.at_once).user_data(place as u64);
            // SAFETY: the descriptor and the buffer belong to the ring until the kernel is done: the slot is emptied
            // by the completion alone, nobody touches the bytes before, and the drop waits for all of them.
            match unsafe { queue.push(&entry) } {
                Ok(()) => self.under_way += 1,
                Err(_) => return self.waiting.push_front(place),
            }
        }
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn has_completed(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Adds what the kernel is done with.
    pub fn collect(&mut self, completed: &mut Vec<Completed>) {
        for entry in self.ring.completion() {
            let place = entry.user_data() as usize;
            let Some(Slot { id, work, from }) = self.slots.get_mut(place).and_then(Option::take) else {
                continue;
            };
            self.under_way -= 1;
            self.free.push(place);
            let result =
                usize::try_from(entry.result()).map_err(|_| io::Error::from_raw_os_error(-entry.result()));
            completed.push(Completed { id, work, from, result });
        }
    }
}

/// Of one slot; what is no read and no write is a flush, and so is a durable write whose bytes are all written.
fn entry(fd: Fd, slot: &mut Slot, at_once: bool) -> squeue::Entry {
    let from = slot.from;
    match &mut slot.work {
        Work::Read { offset, buffer } => {
            let bytes = &mut buffer.as_mut_slice()[from..];
            let length = bytes.len().min(ENTRY_BYTES) as u32;
            opcode::Read::new(fd, bytes.as_mut_ptr(), length).offset(*offset + from as u64).build()
        }
        Work::Write { offset, buffer, durable } if from < buffer.len() => {
            let bytes = &buffer.as_slice()[from..];
            let length = bytes.len().min(ENTRY_BYTES) as u32;
            let flags = if *durable && at_once { libc::RWF_DSYNC } else { 0 };
            let write = opcode::Write::new(fd, bytes.as_ptr(), length);
            write.offset(*offset + from as u64).rw_flags(flags).build()
        }
        _ => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let mut completed = Vec::new();
        while self.under_way > 0 {
            match self.ring.submit_and_wait(1) {
                Ok(_) => self.collect(&mut completed),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    // Memory that the kernel may still write to is never used again.
                    return mem::forget(mem::take(&mut self.slots));
                }
            }
        }
    }
}
