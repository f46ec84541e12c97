//! Reads of what the kernel's cache holds, and writes into it, done at once as long as they are a copy and no more.
//!
//! A read of it is a copy, and where it is the only one that is handed over, a call for it is less work than a ring is. What
//! the cache does not hold the kernel says at once, and the read goes the long way: nobody waits. A try that found nothing
//! is followed by reads that are not tried, each time twice as many, so that storage past the cache has next to nothing of it.
//!
//! Some file systems, ext4 among them, cannot say beforehand whether a write into the cache would wait, so that the kernel
//! gives each to a thread, which costs several times the copy. But where the cache is full of what is not on the disk yet,
//! a write does wait, and everybody whose I/O goes through this thread with it. A copy that was slow is therefore
//! followed by a pause in which all writes go the long way, and each slow one that follows doubles the pause.

use super::open::Opened;
use crate::{Buffer, Work};
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::file::read_cached;
use std::io;

/// A longer copy is long enough for somebody else to make it.
const BYTES_MAX: u64 = 64 << 10;
/// Most reads that are not tried after one that found nothing.
const SKIPPED_MAX: u32 = 64;

/// How a try to read from the cache ended.
#[derive(Debug)]
pub(super) enum Tried {
    /// Everything was in the cache and is read.
    Whole(Buffer),
    /// So many bytes are; the rest has to be waited for.
    Part(Work, usize),
}

#[derive(Debug, Default)]
pub(super) struct Cached {
    /// Reads to come that are not tried, and how many those will be after the next one that finds nothing.
    skip: u32,
    next: u32,
    /// The file system cannot say what the cache holds.
    never: bool,
}

impl Cached {
    /// Whether this one may be read by a call that does not wait.
    pub fn takes(&mut self, file: &Opened, work: &Work) -> bool {
        // A direct read would be waited for, whatever is said to the kernel.
        let short = matches!(work, Work::Read { buffer, .. } if buffer.len() as u64 <= BYTES_MAX);
        if self.never || file.block > 1 || !short {
            return false;
        }
        let skips = self.skip > 0;
        self.skip = self.skip.saturating_sub(1);
        !skips
    }

    pub fn read(&mut self, file: &Opened, work: Work) -> Tried {
        let Work::Read { offset, mut buffer } = work else { return Tried::Part(work, 0) };
        let read = read_cached(&file.file, buffer.as_mut_slice(), offset);
        self.learn(&read);
        match read {
            Ok(read) if read == buffer.len() => Tried::Whole(buffer),
            // The end of the file, too: the long way says what that means.
            Ok(read) => Tried::Part(Work::Read { offset, buffer }, read),
            // Whatever it is: the long way says what the storage says, and is not asked a second time.
            Err(_) => Tried::Part(Work::Read { offset, buffer }, 0),
        }
    }

    fn learn(&mut self, read: &io::Result<usize>) {
        match read {
            Ok(_) => self.next = 0,
            Err(error) => {
                self.never |= is_unknown(error);
                self.next = (self.next * 2).clamp(1, SKIPPED_MAX);
                self.skip = self.next;
            }
        }
    }
}

/// Whether an error says that this way to read is not there: by the file system, an older kernel, or a filter of calls.
fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM | libc::EINVAL))
}

/// A copy that has waited, and took longer, held others up.
const SLOW: Nanos = Nanos::from_millis(2);
/// The first pause after a copy that was slow, and the longest.
const PAUSE: Nanos = Nanos::from_millis(1_000);
const PAUSE_MAX: Nanos = Nanos::from_millis(64_000);
/// What is not in whole pages may have to be read first.
const PAGE: u64 = 4_096;

pub(super) struct Copies {
    clock: Clock,
    /// Before this instant no write is done at once.
    paused: Nanos,
    /// The next pause.
    pause: Nanos,
}

impl Copies {
    pub fn new() -> Self {
        Self { clock: Clock::start(), paused: Nanos::ZERO, pause: PAUSE }
    }

    /// Whether this write may be done at once.
    pub fn takes(&self, file: &Opened, work: &Work) -> bool {
        let Work::Write { offset, buffer, durable: false } = work else { return false };
        let bytes = buffer.len() as u64;
        let whole = offset.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE) && bytes <= BYTES_MAX;
        whole && file.block == 1 && !file.is_device && self.clock.now() >= self.paused
    }

    /// Does it, and learns from how long that takes.
    pub fn watch<T>(&mut self, copy: impl FnOnce() -> T) -> T {
        let (begun, waits) = (self.clock.now(), evenkeel_os::usage::waits());
        let result = copy();
        let ended = self.clock.now();
        // Time alone says nothing: another thread may have had the CPU meanwhile.
        let waited = ended - begun > SLOW && evenkeel_os::usage::waits() > waits;
        self.learn(ended, waited);
        result
    }

    fn learn(&mut self, now: Nanos, waited: bool) {
        if waited {
            self.paused = now + self.pause;
            self.pause = (self.pause + self.pause).min(PAUSE_MAX);
        } else if now > self.paused + self.pause {
            self.pause = PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(offset: u64, bytes: usize) -> Work {
        Work::Read { offset, buffer: Buffer::zeroed(bytes) }
    }

    fn opened(bytes: u64) -> (tempfile::NamedTempFile, Opened) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; bytes as usize]).unwrap();
        let opened = Opened::open(Path::new(file.path()), false, true).unwrap();
        (file, opened)
    }

    #[test]
    fn what_was_just_written_is_read_at_once() {
        let (_file, opened) = opened(1 << 16);
        let mut cached = Cached::default();
        assert!(cached.takes(&opened, &read(0, 4_096)));
        match cached.read(&opened, read(8_192, 16_384)) {
            Tried::Whole(buffer) => assert_eq!(buffer.as_slice(), [7; 16_384]),
            // A file system that cannot say: the long way is taken.
            tried => assert!(matches!(tried, Tried::Part(_, 0)) && cached.never, "{tried:?}"),
        }
    }

    #[test]
    fn a_file_that_became_shorter_gives_what_is_left_and_no_more() {
        let (file, opened) = opened(1 << 16);
        file.as_file().set_len(10_000).unwrap();
        let mut cached = Cached::default();
        let tried = cached.read(&opened, read(8_192, 16_384));
        assert!(matches!(tried, Tried::Part(_, 1_808)) || cached.never, "{tried:?}");
        let tried = cached.read(&opened, read(16_384, 4_096));
        assert!(matches!(tried, Tried::Part(_, 0)), "{tried:?}");
    }

    #[test]
    fn only_short_reads_through_the_cache_are_tried() {
        let (_file, mut opened) = opened(1 << 16);
        let mut cached = Cached::default();
        assert!(!cached.takes(&opened, &Work::Flush));
        assert!(!cached.takes(&opened, &read(0, 1 << 20)), "it is long");
        opened.block = 512;
        assert!(!cached.takes(&opened, &read(0, 4_096)), "a direct read waits");
    }

    #[test]
    fn after_reads_that_found_nothing_fewer_are_tried() {
        let (_file, opened) = opened(1 << 16);
        let mut cached = Cached::default();
        let failed = |errno| Err(io::Error::from_raw_os_error(errno));
        let mut not_tried = || {
            let mut count = 0;
            cached.learn(&failed(libc::EAGAIN));
            while !cached.takes(&opened, &read(0, 512)) {
                count += 1;
            }
            count
        };
        let counts: Vec<u32> = (0..8).map(|_| not_tried()).collect();
        assert_eq!(counts, [1, 2, 4, 8, 16, 32, 64, 64]);
        cached.learn(&Ok(512));
        assert!(cached.takes(&opened, &read(0, 512)));
        cached.learn(&failed(libc::EOPNOTSUPP));
        assert!((0..1_000).all(|_| !cached.takes(&opened, &read(0, 512))), "it never works here");
    }

    fn write(offset: u64, bytes: usize, durable: bool) -> Work {
        Work::Write { offset, buffer: Buffer::zeroed(bytes), durable }
    }

    #[test]
    fn only_a_write_that_is_a_copy_is_done_at_once() {
        let ((_file, file), copies) = (opened(1 << 20), Copies::new());
        assert!(copies.takes(&file, &write(8_192, 4_096, false)));
        assert!(!copies.takes(&file, &write(8_192, 4_096, true)), "it has to be on the disk");
        assert!(!copies.takes(&file, &write(8_192, 512, false)), "the page may have to be read");
        assert!(!copies.takes(&file, &write(512, 4_096, false)), "two pages may");
        assert!(!copies.takes(&file, &write(0, 1 << 20, false)), "it is long");
        assert!(!copies.takes(&file, &Work::Flush));
    }

    #[test]
    fn a_slow_copy_is_followed_by_a_pause_and_the_next_one_by_a_longer_one() {
        let mut copies = Copies::new();
        let at = Nanos::from_millis;
        copies.learn(at(10), false);
        assert_eq!(copies.paused, Nanos::ZERO);
        copies.learn(at(100), true);
        assert_eq!(copies.paused, at(1_100));
        copies.learn(at(1_200), true);
        assert_eq!(copies.paused, at(3_200));
        copies.learn(at(3_300), false);
        assert_eq!(copies.pause, at(4_000), "one that was fast says little");
        copies.learn(at(7_300), false);
        assert_eq!(copies.pause, PAUSE);
    }
}
