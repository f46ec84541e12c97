//! /proc/PID/stat has the CPU time of a process over all its threads.

use crate::disk::Device;
use crate::error::SenseError;
use crate::text;
use evenkeel_core::Nanos;
use evenkeel_os::cpu::{Affinity, CPUS_MAX};
use evenkeel_os::usage::{process_cpu, tick};
use std::collections::{BTreeMap, BTreeSet, btree_set};
use std::fmt;
use std::iter::Copied;
use std::str::FromStr;

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

/// CPU time of each thread of the kernel until one instant. Some work for file disks; which do so cannot be told, since they take any work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelThreads(BTreeMap<u32, Nanos>);

impl KernelThreads {
    /// Behind a file disk; `None` of any other device, and where they are not to be seen.
    pub fn behind(device: &Device) -> Option<Self> {
        device.name.strip_prefix("loop")?;
        // In a container this may be any process.
        text::read_line("/proc/2/comm").filter(|name| name == "kthreadd")?;
        let children = text::read("/proc/2/task/2/children")?;
        let pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        Some(Self(pids.filter_map(|pid| Some((pid, process_cpu(pid)?))).collect()))
    }

    /// What they took since an earlier reading, without those that have ended.
    pub fn since(&self, before: &Self) -> Nanos {
        let took = self.0.iter().map(|(pid, time)| *time - before.0.get(pid).copied().unwrap_or_default());
        took.fold(Nanos::ZERO, |sum, took| sum + took)
    }
}

/// CPU time counted until one instant, from an origin that only another reading of the same domain shares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuReading {
    /// All time that the domain ran: user, nice, system and interrupts.
    pub busy: Nanos,
    pub user: Option<Nanos>,
    /// In user code of lowered priority.
    pub nice: Option<Nanos>,
    pub system: Option<Nanos>,
    /// In interrupts, hard and soft.
    pub irq: Option<Nanos>,
    /// Idle while a disk was waited for. The kernel knows this of CPUs alone, and only roughly.
    pub iowait: Option<Nanos>,
    /// Ready to run while the hypervisor ran somebody else; known of CPUs alone.
    pub steal: Option<Nanos>,
    /// Idle with nothing to wait for; known of CPUs alone.
    pub idle: Option<Nanos>,
    /// Number of CPUs' worth of time that the domain may use.
    pub capacity: f64,
    /// The step in which `busy` is counted. Where that is a nanosecond or a microsecond, the kernel still
    /// brings a thread that runs undisturbed up to date only at its scheduler's ticks, every 1 to 10 ms.
    pub resolution: Nanos,
    /// Tells a process from a later one with the same number: its start, in ticks from the boot.
    pub incarnation: u64,
}

/// A set of CPUs, `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// Those that a process (its first thread) may run on: online, in its cpuset and in its mask; `None` where it is gone.
    pub(crate) fn of_process(pid: u32) -> Option<Self> {
        Affinity::of_process(pid).map(|affinity| affinity.cpus().collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this one is among them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = u32;
    type IntoIter = Copied<btree_set::Iter<'a, u32>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().filter(|&cpu| cpu < CPUS_MAX).collect())
    }
}

impl FromStr for CpuSet {
    type Err = SenseError;

    /// `0-3,8`; empty text is the empty set, as in the kernel's files.
    fn from_str(text: &str) -> Result<Self, SenseError> {
        let refused = || SenseError::CpuSet { text: text.to_owned(), limit: CPUS_MAX };
        let mut cpus = BTreeSet::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let bounds = (first.parse::<u32>().map_err(|_| refused())?, last.parse().map_err(|_| refused())?);
            if bounds.0 > bounds.1 || bounds.1 >= CPUS_MAX {
                return Err(refused());
            }
            cpus.extend(bounds.0..=bounds.1);
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(out, "{separator}{first}")?;
            if last > first {
                write!(out, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::{captured, damaged};

    #[test]
    fn columns_are_found_behind_the_name() {
        let expected = ProcessStat { state: 'S', user: 48123, system: 20345, threads: 37, start: 109155 };
        assert_eq!(ProcessStat::parse(captured("pid-stat-6.18")), Some(expected));
    }

    #[test]
    fn a_name_may_contain_spaces_and_parentheses() {
        let stat = ProcessStat::parse(captured("pid-stat-odd-name")).expect("a process");
        assert_eq!((stat.state, stat.user, stat.system, stat.threads), ('R', 7, 3, 2));
        damaged(captured("pid-stat-odd-name"), ProcessStat::parse);
    }

    #[test]
    fn without_a_clock_ticks_have_to_do() {
        let stat = ProcessStat::parse(captured("pid-stat-odd-name")).expect("a process");
        let reading = reading(&stat, None, Nanos::from_millis(10), 2.0).expect("a reading");
        assert_eq!((reading.busy, reading.resolution), (Nanos::from_millis(100), Nanos::from_millis(10)));
    }

    #[test]
    fn a_list_is_read_and_written_as_the_kernel_does() {
        for (text, written, len) in
            [("0", "0", 1), ("0-3,8\n", "0-3,8", 5), ("3,1,2", "1-3", 3), ("", "", 0), ("5-5, 7", "5,7", 2)]
        {
            let set: CpuSet = text.parse().expect(text);
            assert_eq!((set.to_string().as_str(), set.len()), (written, len), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_text() {
        for text in ["a", "3-1", "1,,2", "-1", "0-8192", "4294967295", "1-", "0-4294967295"] {
            let error = text.parse::<CpuSet>().expect_err(text);
            assert!(error.to_string().contains(text), "{error}");
        }
        damaged("0-3,8,10-11", |text| text.parse::<CpuSet>());
    }
}
