//! The load generator must know how much of the machine it takes itself.

use crate::{memory, text};
use evenkeel_core::Nanos;
use evenkeel_os::usage::{self, Whose};

/// Account of this process or of one of its threads since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnReading {
    /// CPU time in all.
    pub busy: Nanos,
    /// CPU time in user code, up to the last scheduler tick.
    pub user: Nanos,
    pub system: Nanos,
    pub voluntary: u64,
    /// Context switches by being taken from the CPU.
    pub involuntary: u64,
    /// Most memory that the process ever held, in bytes.
    pub memory_max_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnUse {
    /// In percent of one CPU; several busy threads pass 100.
    pub cpu: f64,
    /// CPU time behind it.
    pub busy: Nanos,
    /// Context switches by waiting.
    pub voluntary: u64,
    /// Context switches by being taken from the CPU: above a few, the generator has too few CPUs.
    pub involuntary: u64,
}

impl OwnReading {
    /// This process with all its threads, also ended ones; not the servers that it started.
    pub fn process() -> Option<Self> {
        Self::read(Whose::Process)
    }

    /// The calling thread alone.
    pub fn thread() -> Option<Self> {
        Self::read(Whose::Thread)
    }

    fn read(whose: Whose) -> Option<Self> {
        let used = usage::usage(whose)?;
        let time =
            |time: libc::timeval| Nanos::from_micros(count(time.tv_sec) * 1_000_000 + count(time.tv_usec));
        Some(Self {
            busy: usage::own_cpu(whose)?,
            user: time(used.ru_utime),
            system: time(used.ru_stime),
            voluntary: count(used.ru_nvcsw),
            involuntary: count(used.ru_nivcsw),
            memory_max_bytes: count(used.ru_maxrss) * 1024,
        })
    }
}

/// The kernel declares these signed and never lets them be negative.
fn count(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(0)
}

impl OwnUse {
    /// Between two readings of one process (or thread) that are `duration` apart.
    pub fn between(before: &OwnReading, after: &OwnReading, duration: Nanos) -> Option<Self> {
        let busy = after.busy - before.busy;
        Some(Self {
            cpu: text::percent(busy, duration.0 as f64)?,
            busy,
            voluntary: after.voluntary.saturating_sub(before.voluntary),
            involuntary: after.involuntary.saturating_sub(before.involuntary),
        })
    }
}

pub fn memory_bytes() -> Option<u64> {
    memory::resident(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_costs_no_more_than_its_process() {
        let (thread, process) = (OwnReading::thread().expect("usage"), OwnReading::process().expect("usage"));
        assert!(Nanos::ZERO < thread.busy && thread.busy <= process.busy);
        assert!(process.memory_max_bytes > 1 << 20);
    }

    #[test]
    fn use_is_in_percent_of_one_cpu() {
        let before = OwnReading { busy: Nanos::from_secs(1), voluntary: 7, ..Default::default() };
        let after = OwnReading { busy: Nanos::from_secs(7), voluntary: 9, ..before };
        let used = OwnUse::between(&before, &after, Nanos::from_secs(3)).expect("a use");
        assert_eq!((used.cpu, used.busy, used.voluntary), (200.0, Nanos::from_secs(6), 2));
        assert_eq!(OwnUse::between(&before, &after, Nanos::ZERO), None);
    }
}
