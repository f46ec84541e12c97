//! What is behind a disk.
//!
//! A backing owns no thread of the engine's and never waits: work is started, handed over in one go, and its end is
//! collected. Whoever needs threads for that has his own.

mod file;
mod pool;
pub mod simulated;

use super::{Answer, Errno, Work};
use evenkeel_core::Nanos;
pub use file::{Executor, FileBacking, FileError, FileOptions};

use std::io;
use std::os::fd::RawFd;

#[derive(Debug)]
pub struct Ended {
    pub id: u64,
    /// How it ended: truthfully, and not tried again.
    pub answer: Answer,
}

/// Storage of a fixed size. The engine checks ranges before; each work that is started ends once.
pub trait Backing: Send {
    fn bytes(&self) -> u64;

    fn is_read_only(&self) -> bool {
        false
    }

    /// Who does the I/O, in a word or two for people.
    fn executor(&self) -> String {
        "itself".to_owned()
    }

    /// Why what was written and answered may be gone, once it may. A change that failed by itself is no reason, an end of it
    /// that could not be brought to the disk is. Asked after an error, and after a look.
    fn lost(&self) -> Option<Errno> {
        None
    }

    /// Looks after what it is on, though nobody asks for anything: called once a period. [`lost`](Backing::lost) says what came of
    /// it.
    fn look(&mut self) {}

    /// Takes a work; it need not be under way before [`push`](Backing::push).
    fn start(&mut self, id: u64, work: Work, now: Nanos);

    /// Gets all that was started under way.
    fn push(&mut self, now: Nanos) -> io::Result<()>;

    /// Adds what has ended since the last call.
    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>);

    /// A descriptor that becomes readable when something has ended, where there is one; it is watched edge-triggered.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    /// Device time of all that was started, in seconds of one spindle, where the storage keeps an account of it.
    fn device_s(&self) -> Option<f64> {
        None
    }

    /// The instant at which to collect though the descriptor shows nothing.
    fn due(&self) -> Option<Nanos> {
        None
    }
}
