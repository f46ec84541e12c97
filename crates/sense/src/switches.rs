//! Context switches of a process are counted over all its threads.

use crate::text;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSwitches {
    /// It went to sleep by itself.
    pub voluntary: u64,
    /// It was taken from the CPU.
    pub involuntary: u64,
}

/// Switches of every thread that lives, by thread number. One small file a thread is read: some 30 us each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchesReading(pub BTreeMap<u32, ThreadSwitches>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Threads went to sleep by themselves: waits for the network, disks, locks.
    pub voluntary: u64,
    /// Threads were taken from the CPU: too few CPUs.
    pub involuntary: u64,
    /// Threads that ended in between and took their counts along; above zero, the two figures are lower
    /// bounds.
    pub ended: u64,
}

impl SwitchesReading {
    pub fn read(pid: u32) -> Option<Self> {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
        // A thread may end between the listing and the reading; it is left out.
        let threads: BTreeMap<u32, ThreadSwitches> = numbers
            .filter_map(|thread: u32| {
                let status = text::read(format!("/proc/{pid}/task/{thread}/status"))?;
                Some((thread, ThreadSwitches::parse(&status)?))
            })
            .collect();
        (!threads.is_empty()).then_some(Self(threads))
    }
}

impl ThreadSwitches {
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self {
            voluntary: text::number(text, "voluntary_ctxt_switches")?,
            involuntary: text::number(text, "nonvoluntary_ctxt_switches")?,
        })
    }
}

impl Switches {
    /// Switches between two readings of one process. Threads that began in between count whole.
    pub fn between(before: &SwitchesReading, after: &SwitchesReading) -> Self {
        let mut sum = Self::default();
        for (thread, now) in &after.0 {
            let then = before.0.get(thread).copied().unwrap_or_default();
            let risen =
                (now.voluntary.checked_sub(then.voluntary), now.involuntary.checked_sub(then.involuntary));
            match risen {
                (Some(voluntary), Some(involuntary)) => sum.add(voluntary, involuntary),
                // A thread with the number of an ended one.
                _ => {
                    sum.add(now.voluntary, now.involuntary);
                    sum.ended += 1;
                }
            }
        }
        sum.ended += before.0.keys().filter(|thread| !after.0.contains_key(thread)).count() as u64;
        sum
    }

    fn add(&mut self, voluntary: u64, involuntary: u64) {
        self.voluntary = self.voluntary.saturating_add(voluntary);
        self.involuntary = self.involuntary.saturating_add(involuntary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = include_str!("../captured/pid-status");

    fn reading(threads: &[(u32, u64, u64)]) -> SwitchesReading {
        let thread = |&(number, voluntary, involuntary)| (number, ThreadSwitches { voluntary, involuntary });
        SwitchesReading(threads.iter().map(thread).collect())
    }

    #[test]
    fn both_kinds_are_read() {
        assert_eq!(ThreadSwitches::parse(STATUS), Some(ThreadSwitches { voluntary: 150, involuntary: 545 }));
        assert_eq!(ThreadSwitches::parse("Name:\tx\n"), None);
        crate::garbage::damaged(STATUS, ThreadSwitches::parse);
    }

    #[test]
    fn new_threads_count_whole_and_ended_ones_are_owned_up_to() {
        let before = reading(&[(1, 10, 1), (2, 20, 2), (3, 30, 3)]);
        let after = reading(&[(1, 15, 1), (3, 4, 0), (9, 7, 5)]);
        let expected = Switches { voluntary: 5 + 4 + 7, involuntary: 5, ended: 2 };
        assert_eq!(Switches::between(&before, &after), expected);
        assert_eq!(Switches::between(&before, &before), Switches::default());
    }
}
