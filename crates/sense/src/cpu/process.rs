//! /proc/PID/stat has the CPU time of a process over all its threads.

use super::CpuSet;
use super::reading::CpuReading;
use crate::text;
use evenkeel_core::Nanos;
use evenkeel_os::usage::{process_cpu, tick};

/// What /proc/PID/stat says that we need. Times are in ticks and contain ended threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// `R`unning, `S`leeping, `Z`ombie ...
    pub state: char,
    pub user: u64,
    pub system: u64,
    /// Threads that live.
    pub threads: u64,
    /// Start, in ticks from the boot: no two processes with one number share it.
    pub start: u64,
}

impl ProcessStat {
    /// Reads the file of a process; `None` where it is gone. A process that has ended but was not waited
    /// for (a zombie) is gone too.
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&text::read(format!("/proc/{pid}/stat"))?)
            .filter(|stat| !matches!(stat.state, 'Z' | 'X' | 'x'))
    }

    /// Parses the text. The name in it may itself contain spaces and parentheses, so the columns begin
    /// behind the last closing one.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, columns) = text.rsplit_once(')')?;
        let columns: Vec<&str> = columns.split_ascii_whitespace().collect();
        // The manual counts from one and the number and name of the process are cut off.
        let column = |number: usize| columns.get(number - 3)?.parse().ok();
        Some(Self {
            state: columns.first()?.chars().next()?,
            user: column(14)?,
            system: column(15)?,
            threads: column(20)?,
            start: column(22)?,
        })
    }
}

/// Reads a process. Its time in total comes from its CPU clock, which counts nanoseconds; user and
/// kernel come from /proc, in ticks, so that they may miss the total by a tick each.
pub(super) fn read(pid: u32) -> Option<CpuReading> {
    let stat = ProcessStat::read(pid)?;
    let capacity = CpuSet::of_process(pid)?.len() as f64;
    reading(&stat, process_cpu(pid), tick(), capacity)
}

fn reading(stat: &ProcessStat, clock: Option<Nanos>, tick: Nanos, capacity: f64) -> Option<CpuReading> {
    let (user, system) = (text::times(stat.user, tick), text::times(stat.system, tick));
    Some(CpuReading {
        busy: clock.unwrap_or(user + system),
        user: Some(user),
        system: Some(system),
        capacity,
        resolution: if clock.is_some() { Nanos(1) } else { tick },
        incarnation: stat.start,
        ..CpuReading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX_6: &str = include_str!("../../captured/pid-stat-6.18");
    const ODD_NAME: &str = include_str!("../../captured/pid-stat-odd-name");

    #[test]
    fn columns_are_found_behind_the_name() {
        let expected = ProcessStat { state: 'S', user: 48123, system: 20345, threads: 37, start: 109155 };
        assert_eq!(ProcessStat::parse(LINUX_6), Some(expected));
    }

    #[test]
    fn a_name_may_contain_spaces_and_parentheses() {
        let stat = ProcessStat::parse(ODD_NAME).expect("a process");
        assert_eq!((stat.state, stat.user, stat.system, stat.threads), ('R', 7, 3, 2));
        crate::garbage::damaged(ODD_NAME, ProcessStat::parse);
    }

    #[test]
    fn without_a_clock_ticks_have_to_do() {
        let stat = ProcessStat::parse(ODD_NAME).expect("a process");
        let reading = reading(&stat, None, Nanos::from_millis(10), 2.0).expect("a reading");
        assert_eq!((reading.busy, reading.resolution), (Nanos::from_millis(100), Nanos::from_millis(10)));
    }
}
