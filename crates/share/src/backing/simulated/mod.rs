//! Storage that takes as long as a disk array with known answers would, on real time.
//!
//! The bytes are those of another backing. Several processes may use one array: it is a file with the instants until which
//! its spindles have work. An I/O goes to the backing when its spindle is done with it, so that what is read then is what was
//! written before.

mod calendar;

pub use calendar::{ArrayError, SharedCalendar, create, open};

use super::{Backing, Ended};
use crate::{Errno, Work};
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_core::share::{Array, Io};
use evenkeel_os::clock::monotonic;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;

pub struct Simulated {
    inner: Box<dyn Backing>,
    array: Array<SharedCalendar>,
    calendar: SharedCalendar,
    /// What was asked of an array whose file is not whole any more.
    refused: Vec<u64>,
    /// When which work is done; the work and its name stand in `waiting`.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    waiting: Vec<Option<(u64, Work)>>,
    free: Vec<usize>,
    /// How far the clock that processes share is before the engine's: the least that was seen, since the engine reads its own
    /// first.
    ahead: u64,
}

impl Simulated {
    /// In front of these bytes, as the array of this file; the seed gives the spindle and the service time of each I/O.
    pub fn open(path: &Path, inner: Box<dyn Backing>, seed: Seed) -> Result<Self, ArrayError> {
        let (plan, calendar) = open(path)?;
        let array = Array::with(plan, calendar.clone(), seed);
        Ok(Self {
            inner,
            array,
            calendar,
            refused: Vec::new(),
            due: BinaryHeap::new(),
            waiting: Vec::new(),
            free: Vec::new(),
            ahead: u64::MAX,
        })
    }
}

/// What the array is asked; what is not moved byte by byte counts as one I/O of the usual size.
fn io_of(work: &Work) -> Io {
    let bytes = if work.held() > 0 { work.held() } else { 16_384 };
    Io { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), write: work.changes() }
}

impl Backing for Simulated {
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn look(&mut self) {
        self.inner.look();
    }

    fn lost(&self) -> Option<Errno> {
        self.inner.lost()
    }

    fn executor(&self) -> String {
        format!("a simulated array, {}", self.inner.executor())
    }

    fn start(&mut self, id: u64, work: Work, now: Nanos) {
        if !self.calendar.is_whole() {
            return self.refused.push(id);
        }
        self.ahead = self.ahead.min(monotonic().0.saturating_sub(now.0));
        let now_s = SharedCalendar::now_s();
        let mut done_s = match work {
            Work::Flush => self.array.flush(now_s),
            _ => self.array.send(io_of(&work), now_s),
        };
        if work.is_durable() {
            done_s = done_s.max(self.array.flush(now_s));
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(None);
            self.waiting.len() - 1
        });
        self.waiting[place] = Some((id, work));
        self.due.push(Reverse(((done_s * 1e9) as u64, place)));
    }

    fn push(&mut self, now: Nanos) -> io::Result<()> {
        let clock = monotonic().0;
        while let Some(&Reverse((_, place))) = self.due.peek().filter(|Reverse((due, _))| *due <= clock) {
            self.due.pop();
            self.free.push(place);
            if let Some((id, work)) = self.waiting[place].take() {
                self.inner.start(id, work, now);
            }
        }
        self.inner.push(now)
    }

    fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        let refused = self.refused.drain(..).map(|id| Ended { id, answer: Err(Errno::IO) });
        ended.extend(refused);
        self.inner.collect(now, ended);
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.inner.descriptor()
    }

    fn device_s(&self) -> Option<f64> {
        Some(self.array.device_s())
    }

    fn due(&self) -> Option<Nanos> {
        let Reverse((due, _)) = self.due.peek()?;
        Some(Nanos(due.saturating_sub(self.ahead)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backing::{FileBacking, FileOptions};
    use crate::{Buffer, Errno};
    use evenkeel_core::share::{ArrayPlan, Cost, Service};
    use std::time::Duration;

    const PLAN: ArrayPlan = ArrayPlan {
        spindles: 1_024,
        mean_s: 1e-6,
        service: Service::Exponential,
        cost: Cost { per_byte: 0.0, write: 1.0 },
        cache: None,
    };

    fn read(array: &mut Simulated, id: u64) -> Result<(), Errno> {
        let mut ended = Vec::new();
        array.start(id, Work::Read { offset: 0, buffer: Buffer::zeroed(512) }, Nanos::ZERO);
        while ended.is_empty() {
            array.push(Nanos::ZERO).unwrap();
            array.collect(Nanos::ZERO, &mut ended);
            std::thread::sleep(Duration::from_micros(100));
        }
        ended.remove(0).answer.map(drop)
    }

    #[test]
    fn an_array_whose_file_is_cut_gives_errors_and_ends_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (path, disk) = (folder.path().join("array"), folder.path().join("disk"));
        create(&path, &PLAN).unwrap();
        std::fs::write(&disk, [7; 4_096]).unwrap();
        let inner = FileBacking::open(&disk, FileOptions::default()).unwrap();
        let mut array = Simulated::open(&path, Box::new(inner), Seed(1)).unwrap();
        assert_eq!(read(&mut array, 1), Ok(()));
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
        for id in 2..100 {
            assert_eq!(read(&mut array, id), Err(Errno::IO));
        }
    }
}
