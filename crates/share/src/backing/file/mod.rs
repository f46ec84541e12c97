//! A regular file or a block device.

mod cached;
pub(super) mod open;
mod perform;

use super::pool::Pool;
use super::{Backing, Ended};
use crate::{Buffer, Errno, Work};
use cached::{Cached, Copies, Tried};
use evenkeel_core::Nanos;
use evenkeel_os::{Completed, Ring, Wake};
pub use open::FileError;
use open::Opened;
use perform::Order;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

/// Threads where io_uring does all that is asked often.
const SPARE_THREADS: usize = 4;
/// Threads where they do everything.
const THREADS: usize = 16;
/// After this it is tried again to hand over what the kernel had no memory for.
const AGAIN: Nanos = Nanos(1_000_000);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Executor {
    /// io_uring where the kernel allows it, threads where not.
    #[default]
    Any,
    /// The kernel, as many at once as the window allows.
    Uring,
    /// Threads that wait, up to 16 at once.
    Threads,
}

impl fmt::Display for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Uring => "uring",
            Self::Threads => "threads",
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct FileOptions {
    /// Past the kernel's cache. What is not in whole blocks of the file is read, changed and written back, one change
    /// at a time. Without it, small writes of whole pages are copied into the cache by the engine's own thread, as long as
    /// that does not make it wait.
    pub direct: bool,
    /// It is not written; others may read it too where it is a file.
    pub read_only: bool,
    pub executor: Executor,
}

/// Storage in a file. A file that became shorter gives errors, not zeroes, if it was short at an I/O or at a look: one that was
/// cut and made long again in between looks as before.
pub struct FileBacking {
    file: Arc<Opened>,
    // Before the pool: it may hold works for it.
    ring: Option<Ring>,
    pool: Pool,
    wake: Arc<Wake>,
    order: Order,
    completed: Vec<Completed>,
    copies: Copies,
    cached: Cached,
    /// The first read since the last push. If it is the only thing that is handed over, it need not go through the ring.
    alone: Option<(u64, Work)>,
    /// Work that was done at once and is to be collected.
    copied: Vec<Ended>,
    /// The file was looked at since the last push; changes ended since it was.
    looked: bool,
    changed: bool,
    /// The kernel had no room at the last push.
    again: Option<Nanos>,
}

impl FileBacking {
    /// Opens the file or device for this process alone.
    ///
    /// Its size is that of the file in whole blocks.
    pub fn open(path: &Path, options: FileOptions) -> Result<Self, FileError> {
        let failed = |error| FileError::Open { path: path.to_owned(), error };
        let file = Arc::new(Opened::open(path, options.direct, options.read_only)?);
        let wake = Arc::new(Wake::new().map_err(failed)?);
        let ring = match options.executor {
            Executor::Threads => None,
            Executor::Any => Ring::new(file.clone(), &wake, file.is_device).ok(),
            Executor::Uring => {
                Some(Ring::new(file.clone(), &wake, file.is_device).map_err(FileError::NoUring)?)
            }
        };
        let most = if ring.is_some() { SPARE_THREADS } else { THREADS };
        let pool = Pool::new(file.clone(), wake.clone(), most).map_err(failed)?;
        Ok(Self {
            file,
            ring,
            pool,
            wake,
            order: Order::default(),
            completed: Vec::new(),
            copies: Copies::new(),
            cached: Cached::default(),
            alone: None,
            copied: Vec::new(),
            looked: false,
            changed: false,
            again: None,
        })
    }

    /// Who does the I/O: [`Executor::Uring`] or [`Executor::Threads`].
    pub fn by(&self) -> Executor {
        if self.ring.is_some() { Executor::Uring } else { Executor::Threads }
    }

    /// Bytes that I/Os are best a multiple of: 1 where the kernel's cache is used.
    pub fn block(&self) -> u64 {
        self.file.block
    }

    /// Begins what the file still has; changes are preceded by a look whether it does.
    fn begin(&mut self, id: u64, work: Work) {
        let is_read = matches!(work, Work::Read { .. });
        if !is_read && !std::mem::replace(&mut self.looked, true) {
            self.file.look();
        }
        self.changed |= !is_read;
        match self.file.has(&work) {
            Ok(()) => self.begin_it(id, work),
            Err(errno) => self.copied.push(Ended { id, answer: Err(errno) }),
        }
    }

    fn begin_it(&mut self, id: u64, work: Work) {
        if self.copies.takes(&self.file, &work) {
            let answer = self.copies.watch(|| self.file.act(work));
            return self.copied.push(Ended { id, answer });
        }
        let Some(ring) = &self.ring else { return self.read_or_start(id, work) };
        let first = self.alone.take();
        if first.is_none() && !ring.has_waiting() && self.cached.takes(&self.file, &work) {
            self.alone = Some((id, work));
            return;
        }
        // Several go in one call, which is less work than one call for each.
        if let Some((id, work)) = first {
            self.hand_over(id, work, 0);
        }
        self.hand_over(id, work, 0);
    }

    /// What is done by threads, if it has to be.
    fn read_or_start(&mut self, id: u64, work: Work) {
        match self.cached.takes(&self.file, &work) {
            true => self.read_cached(id, work),
            false => self.pool.start(id, work),
        }
    }

    fn read_cached(&mut self, id: u64, work: Work) {
        match self.cached.read(&self.file, work) {
            Tried::Whole(buffer) => self.copied.push(Ended { id, answer: Ok(buffer) }),
            Tried::Part(work, done) => self.hand_over(id, work, done),
        }
    }

    /// To the ring, `done` bytes of it being there already, or else all of it to the threads.
    fn hand_over(&mut self, id: u64, work: Work, done: usize) {
        let done_whole = (done as u64).is_multiple_of(self.file.block);
        let whole = work.range().is_none_or(|(offset, bytes)| bytes > 0 && self.file.is_whole(offset, bytes));
        let left = match &mut self.ring {
            Some(ring) if whole && done_whole => ring.start(id, work, done).err(),
            _ => Some(work),
        };
        if let Some(work) = left {
            self.pool.start(id, work);
        }
    }

    /// Whether the kernel was asked to bring something to the disk.
    fn syncs(&self, work: &Work, from: usize) -> bool {
        match work {
            Work::Flush => true,
            Work::Write { buffer, durable, .. } => *durable && (self.file.is_device || from == buffer.len()),
            _ => false,
        }
    }

    /// What the kernel is done with may not be done yet.
    fn judge(&mut self, completed: Completed, ended: &mut Vec<Ended>) {
        let Completed { id, work, from, result } = completed;
        let moved = match result {
            Ok(moved) => moved,
            // It says nothing about the disk: the pool waits until it goes.
            Err(error) if is_passing(&error) => return self.pool.start(id, work),
            Err(error) => {
                let errno = error.into();
                self.file.doubt(errno, self.syncs(&work, from));
                return ended.push(Ended { id, answer: Err(errno) });
            }
        };
        let done = from + moved;
        match work {
            Work::Write { ref buffer, durable: true, .. } if from < buffer.len() && !self.file.is_device => {
                // What is left of its bytes, or the sync of all of them.
                match moved {
                    0 => ended.push(Ended { id, answer: Err(Errno::NO_SPACE) }),
                    _ => self.hand_over(id, work, done),
                }
            }
            Work::Read { buffer, .. } | Work::Write { buffer, .. } if done >= buffer.len() => {
                ended.push(Ended { id, answer: Ok(buffer) });
            }
            // The disk has these bytes, the file does not any more.
            Work::Read { .. } if moved == 0 => {
                self.file.look();
                ended.push(Ended { id, answer: Err(Errno::IO) });
            }
            Work::Write { .. } if moved == 0 => ended.push(Ended { id, answer: Err(Errno::NO_SPACE) }),
            Work::Read { .. } | Work::Write { .. } => self.hand_over(id, work, done),
            _ => ended.push(Ended { id, answer: Ok(Buffer::default()) }),
        }
    }
}

impl Backing for FileBacking {
    fn bytes(&self) -> u64 {
        self.file.bytes
    }

    fn is_read_only(&self) -> bool {
        self.file.read_only
    }

    fn look(&mut self) {
        self.file.look();
    }

    fn lost(&self) -> Option<Errno> {
        self.file.lost()
    }

    fn executor(&self) -> String {
        let cached = if self.file.block > 1 { " past the cache" } else { "" };
        format!("{}{cached}", self.by())
    }

    fn start(&mut self, id: u64, work: Work, _: Nanos) {
        let work = match work.range() {
            Some((offset, bytes)) if self.file.block > 1 && work.changes() => {
                self.order.start(id, work, self.file.is_whole(offset, bytes))
            }
            _ => Some(work),
        };
        if let Some(work) = work {
            self.begin(id, work);
        }
    }

    fn push(&mut self, now: Nanos) -> io::Result<()> {
        self.looked = false;
        if let Some((id, work)) = self.alone.take() {
            self.read_cached(id, work);
        }
        if let Some(ring) = &mut self.ring {
            self.again = (!ring.push()?).then_some(now + AGAIN);
        }
        Ok(())
    }

    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        loop {
            let before = ended.len();
            self.pool.collect(ended);
            ended.append(&mut self.copied);
            if let Some(ring) = &mut self.ring {
                ring.collect(&mut self.completed);
            }
            for completed in std::mem::take(&mut self.completed) {
                self.judge(completed, ended);
            }
            ended[before..].iter().for_each(|ended| self.order.end(ended.id));
            if self.changed && ended.len() > before {
                self.changed = false;
                self.file.look_after();
            }
            while let Some((id, work)) = self.order.next() {
                self.begin(id, work);
            }
            // What was begun here is not handed over by anybody else; an error comes again at the next push.
            let _ = self.push(now);
            // What ended while it was handed over wakes nobody.
            if self.copied.is_empty() && !self.ring.as_mut().is_some_and(Ring::has_completed) {
                return;
            }
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.wake.as_raw_fd())
    }

    fn due(&self) -> Option<Nanos> {
        self.again
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

#[cfg(test)]
mod tests;
