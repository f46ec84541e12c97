//! Threads: work on one of its own, what ends it early, what it shows to others, how it is woken, and how promptly.

use super::check;
use evenkeel_core::Nanos;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Work under way. Dropping it ends the thread and throws away what it came to.
#[derive(Debug)]
pub struct Background<T> {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<T>>,
}

/// What the work waits by.
pub struct Until(Receiver<()>);

impl Until {
    /// Waits for so long; false where it is told to end.
    pub fn wait(&self, time: Duration) -> bool {
        matches!(self.0.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    /// Waits for an instant of a clock; false where it is told to end.
    pub fn wait_until(&self, at: Nanos, now: impl Fn() -> Nanos) -> bool {
        loop {
            if !self.wait((at - now()).into()) {
                return false;
            }
            if now() >= at {
                return true;
            }
        }
    }
}

impl<T: Send + 'static> Background<T> {
    pub fn start(name: &str, work: impl FnOnce(&Until) -> T + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = Builder::new().name(name.into()).spawn(move || work(&Until(stopped)))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Whether the work has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it, and says what it came to; `None` where it panicked.
    pub fn finish(mut self) -> Option<T> {
        self.stop = None;
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Nobody wants to know what it came to.
            let _ = thread.join();
        }
    }
}

/// Set once (by Ctrl-C, say), seen by everyone who holds a clone. Long work looks at it at least
/// every 100 ms, ends what it began, and leaves nothing behind.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The latest `T`, which one thread puts here and any thread may get. Clones share it.
#[derive(Debug)]
pub struct Latest<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Latest<T> {
    /// There is no value yet.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(value));
    }

    /// The latest value; `None` before the first.
    pub fn get(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An event counter; edge-triggered in a poller it need not be read.
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// One that nobody has woken yet.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a system call without pointers; the descriptor it gives is owned by nobody else.
        let fd =
            unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?) };
        Ok(Self(fd))
    }

    /// Makes the poller return, now or at its next wait.
    pub fn wake(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the pointer and the length are those of the array. The counter is read by nobody; when it is
        // full the wake-up before it is still to come.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

impl AsRawFd for Wake {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Slice asked of the scheduler: the shortest it grants.
const SLICE_NS: u64 = 100_000;

/// What `sched_setattr` takes, in its first published form (48 bytes).
#[derive(Default)]
#[repr(C)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks the scheduler for short slices: a thread that wakes for an arrival then goes before others that
/// compute, and gets no more of the CPU for it. Linux takes the wish since 6.12 and needs no privilege;
/// before, arrivals on a busy CPU are late by up to a slice of the others, and the dispatch lag shows it.
pub fn wake_promptly() {
    // SAFETY: system calls without pointers; zero names the calling thread. A nice value of -1 may also mean
    // an error, which does not matter, because then nothing below works either.
    let (policy, nice) = unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) };
    // Whoever chose another policy chose it for this.
    if policy != libc::SCHED_OTHER {
        return;
    }
    let attributes = SchedulingAttributes {
        size: mem::size_of::<SchedulingAttributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        nice,
        runtime: SLICE_NS,
        ..SchedulingAttributes::default()
    };
    // SAFETY: the attributes live through the call and tell their size.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0_u32) };
}
