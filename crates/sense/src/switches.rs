//! Context switches of a process are counted over all its threads.

use crate::text;
use std::collections::BTreeMap;

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

    const STATUS: &str = include_str!("../captured/pid-status");

    #[test]
    fn both_kinds_are_read() {
        assert_eq!(parse(STATUS), Some(150 + 545));
        assert_eq!(parse("Name:\tx\n"), None);
        crate::garbage::damaged(STATUS, parse);
    }

    #[test]
    fn new_threads_count_whole_and_ended_ones_take_theirs_along() {
        let before = SwitchesReading([(1, 11), (2, 22), (3, 33)].into());
        let after = SwitchesReading([(1, 16), (3, 4), (9, 12)].into());
        assert_eq!(after.since(&before), 5 + 4 + 12);
        assert_eq!(before.since(&before), 0);
    }
}
