//! Writes into the kernel's cache that are done at once, as long as they are a copy and no more.
//!
//! Some file systems, ext4 among them, cannot say beforehand whether a write into the cache would wait, so that the kernel
//! gives each to a thread, which costs several times the copy. But where the cache is full of what is not on the disk yet,
//! a write does wait, and everybody whose I/O goes through this thread with it. A copy that was slow is therefore
//! followed by a pause in which all writes go the long way, and each slow one that follows doubles the pause.

use super::open::Opened;
use crate::Work;
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;

/// A copy that has waited, and took longer, held others up.
const SLOW: Nanos = Nanos::from_millis(2);
/// The first pause after a copy that was slow, and the longest.
const PAUSE: Nanos = Nanos::from_millis(1_000);
const PAUSE_MAX: Nanos = Nanos::from_millis(64_000);
/// What is not in whole pages may have to be read first.
const PAGE: u64 = 4_096;
/// A larger copy is long enough for a thread to pay.
const BYTES_MAX: u64 = 64 << 10;

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
    use crate::Buffer;
    use std::path::Path;

    fn write(offset: u64, bytes: usize, durable: bool) -> Work {
        Work::Write { offset, buffer: Buffer::zeroed(bytes), durable }
    }

    fn opened(path: &Path) -> Opened {
        Opened::open(path, false, false).unwrap()
    }

    #[test]
    fn only_a_write_that_is_a_copy_is_done_at_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let (file, copies) = (opened(file.path()), Copies::new());
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
