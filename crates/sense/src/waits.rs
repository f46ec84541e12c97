//! A thread that could run may wait for a CPU, and the kernel says how long it did; it also counts how often threads were switched.

use crate::text;
use evenkeel_core::Nanos;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// What the kernel's scheduler has counted of one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadWaits {
    /// Time on a CPU.
    pub ran: Nanos,
    /// Time in which it could have run and waited for a CPU.
    pub waited: Nanos,
}

impl ThreadWaits {
    /// Those of the calling thread; `None` where the kernel does not count them. Takes a few microseconds.
    pub fn own() -> Option<Self> {
        Self::parse(&text::read("/proc/thread-self/schedstat")?)
    }

    /// Those of a thread of another process; `None` also where that is gone or hidden.
    pub fn of(pid: u32, thread: u32) -> Option<Self> {
        Self::parse(&text::read(format!("/proc/{pid}/task/{thread}/schedstat"))?)
    }

    /// What all threads of a process have waited that it has now; `None` where the kernel does not count, or hides them. What those did
    /// that have ended is not in it.
    pub fn of_process(pid: u32) -> Option<Nanos> {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let numbers = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok());
        let waits = numbers.filter_map(|thread| Self::of(pid, thread)).map(|waits| waits.waited);
        waits.reduce(|sum, waited| sum + waited)
    }

    /// Parses the text of a schedstat file. A kernel that has one and does not count never gave a thread a CPU by it; the time of
    /// one that has just begun may still be zero.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (ran, waited) = (fields.next()?.ok()?, fields.next()?.ok()?);
        let began = fields.next()?.ok()?;
        (ran > 0 || began > 0).then_some(Self { ran: Nanos(ran), waited: Nanos(waited) })
    }
}

/// The waits of one thread, of which the file stays open: a reading then takes one to two microseconds, a third of the other way.
#[derive(Debug)]
pub struct WaitsFile(File);

impl WaitsFile {
    /// That of the calling thread; `None` where the kernel does not count.
    pub fn own() -> Option<Self> {
        let file = Self(File::open("/proc/thread-self/schedstat").ok()?);
        file.read().map(|_| file)
    }

    /// What was counted until now; `None` once the thread has gone.
    pub fn read(&self) -> Option<ThreadWaits> {
        /// Three numbers of 20 digits at most.
        const ROOM: usize = 64;
        let mut room = [0; ROOM];
        let count = self.0.read_at(&mut room, 0).ok()?;
        ThreadWaits::parse(std::str::from_utf8(&room[..count]).ok()?)
    }
}

/// Switches of every thread that lives, by thread number, whether it went to sleep by itself or was taken from the CPU. One small file a thread is read: some 30 us each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchesReading(pub BTreeMap<u32, u64>);

impl SwitchesReading {
    pub fn read(pid: u32) -> Option<Self> {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
        // A thread may end between the listing and the reading; it is left out.
        let threads: BTreeMap<u32, u64> = numbers
            .filter_map(|thread: u32| {
                let status = text::read(format!("/proc/{pid}/task/{thread}/status"))?;
                Some((thread, parse(&status)?))
            })
            .collect();
        (!threads.is_empty()).then_some(Self(threads))
    }

    /// Switches since an earlier reading of the same process. Threads that began in between count whole; those that ended took theirs
    /// along.
    pub fn since(&self, before: &Self) -> u64 {
        let risen = |(thread, now): (&u32, &u64)| {
            let then = before.0.get(thread).copied().unwrap_or(0);
            // Fewer has a thread with the number of an ended one.
            now.checked_sub(then).unwrap_or(*now)
        };
        self.0.iter().map(risen).fold(0, u64::saturating_add)
    }
}

fn parse(text: &str) -> Option<u64> {
    let kinds = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
    Some(text::number(text, kinds[0])?.saturating_add(text::number(text, kinds[1])?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::{captured, damaged};
    use crate::left_out::left_out;

    #[test]
    fn a_thread_that_ran_and_waited_is_told_and_one_that_is_not_counted_is_not() {
        let waits = ThreadWaits { ran: Nanos(3_215_446), waited: Nanos(281_202) };
        assert_eq!(ThreadWaits::parse("3215446 281202 27\n"), Some(waits));
        let new = ThreadWaits { ran: Nanos::ZERO, waited: Nanos(2_817_462) };
        assert_eq!(ThreadWaits::parse("0 2817462 1\n"), Some(new), "it has just begun");
        for text in ["0 0 0\n", "", "1", "x y z", "-1 2 3"] {
            assert_eq!(ThreadWaits::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_calling_thread_is_known_where_the_kernel_counts() {
        let Some(first) = ThreadWaits::own() else {
            return left_out("the kernel does not count what threads wait for a CPU");
        };
        let then = ThreadWaits::own().expect("it goes on counting");
        assert!(then.ran >= first.ran && then.waited >= first.waited, "{first:?} {then:?}");
        let main =
            ThreadWaits::of(std::process::id(), std::process::id()).expect("the first thread is there");
        assert!(main.ran > Nanos::ZERO);
        assert_eq!(ThreadWaits::of(std::process::id(), u32::MAX), None);
        let all = ThreadWaits::of_process(std::process::id()).expect("all threads are there");
        assert!(all >= then.waited, "{all:?} of all, {then:?} of one");
        assert_eq!(ThreadWaits::of_process(u32::MAX), None);
    }

    #[test]
    fn a_file_that_stays_open_tells_what_is_counted_meanwhile() {
        let Some(file) = WaitsFile::own() else {
            return left_out("the kernel does not count what threads wait for a CPU");
        };
        let first = file.read().expect("it is there");
        while file.read().expect("it goes on counting").ran == first.ran {}
    }

    #[test]
    fn both_kinds_are_read() {
        assert_eq!(parse(captured("pid-status")), Some(150 + 545));
        assert_eq!(parse("Name:\tx\n"), None);
        damaged(captured("pid-status"), parse);
    }

    #[test]
    fn new_threads_count_whole_and_ended_ones_take_theirs_along() {
        let before = SwitchesReading([(1, 11), (2, 22), (3, 33)].into());
        let after = SwitchesReading([(1, 16), (3, 4), (9, 12)].into());
        assert_eq!(after.since(&before), 5 + 4 + 12);
        assert_eq!(before.since(&before), 0);
    }
}
