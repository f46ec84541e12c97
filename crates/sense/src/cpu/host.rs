//! /proc/stat has the CPU time of the machine and of each of its CPUs.

use super::reading::CpuReading;
use super::set::CpuSet;
use crate::text;
use evenkeel_core::Nanos;
use evenkeel_os::usage::tick;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatFile {
    pub whole: Option<CpuTimes>,
    /// The line of each CPU that runs, by number.
    pub cpus: Vec<(u32, CpuTimes)>,
    /// Length of a tick.
    pub tick: Nanos,
}

/// One line, in ticks. Columns that older kernels do not have are `None`. Time of guests is contained in
/// `user` and `nice` already and is not counted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Time in user code of ordinary priority.
    pub user: u64,
    /// User code of lowered priority.
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    /// Idle, a disk was waited for (2.5.41).
    pub iowait: Option<u64>,
    /// Hard interrupts (2.6.0).
    pub irq: Option<u64>,
    /// Soft interrupts (2.6.0).
    pub softirq: Option<u64>,
    /// Taken by the hypervisor (2.6.11).
    pub steal: Option<u64>,
}

impl StatFile {
    pub fn read() -> Option<Self> {
        Some(Self::parse(&text::read("/proc/stat")?, tick()))
    }

    pub fn parse(text: &str, tick: Nanos) -> Self {
        let mut file = Self { tick, ..Self::default() };
        for line in text.lines() {
            let Some((name, times)) = line.split_once(' ') else { continue };
            let Some(number) = name.strip_prefix("cpu") else { continue };
            match (number.parse(), CpuTimes::parse(times)) {
                (Ok(cpu), Some(times)) => file.cpus.push((cpu, times)),
                (Err(_), Some(times)) if number.is_empty() => file.whole = Some(times),
                _ => {}
            }
        }
        file
    }

    /// The whole machine. Its capacity is the number of CPUs that run.
    pub fn host(&self) -> Option<CpuReading> {
        self.reading(self.whole?, self.cpus.len())
    }

    /// Some CPUs. The capacity is the number of those that run.
    pub fn some(&self, wanted: &CpuSet) -> Option<CpuReading> {
        let mut chosen = self.cpus.iter().filter(|(cpu, _)| wanted.contains(*cpu)).map(|(_, times)| *times);
        let first = chosen.next()?;
        let (times, count) = chosen.fold((first, 1), |(sum, count), times| (sum.plus(times), count + 1));
        self.reading(times, count)
    }

    fn reading(&self, times: CpuTimes, cpus: usize) -> Option<CpuReading> {
        let time = |ticks| text::times(ticks, self.tick);
        let irq = times.irq.map(|irq| irq.saturating_add(times.softirq.unwrap_or(0)));
        let busy = [times.user, times.nice, times.system, irq.unwrap_or(0)];
        (cpus > 0).then(|| CpuReading {
            busy: time(busy.into_iter().fold(0, u64::saturating_add)),
            user: Some(time(times.user)),
            nice: Some(time(times.nice)),
            system: Some(time(times.system)),
            irq: irq.map(time),
            iowait: times.iowait.map(time),
            steal: times.steal.map(time),
            idle: Some(time(times.idle)),
            capacity: cpus as f64,
            resolution: self.tick,
            incarnation: 0,
        })
    }
}

impl CpuTimes {
    fn parse(columns: &str) -> Option<Self> {
        let mut columns = columns.split_ascii_whitespace().map_while(|word| word.parse().ok());
        Some(Self {
            user: columns.next()?,
            nice: columns.next()?,
            system: columns.next()?,
            idle: columns.next()?,
            iowait: columns.next(),
            irq: columns.next(),
            softirq: columns.next(),
            steal: columns.next(),
        })
    }

    fn plus(self, other: Self) -> Self {
        let both = |left: Option<u64>, right: Option<u64>| Some(left?.saturating_add(right?));
        Self {
            user: self.user.saturating_add(other.user),
            nice: self.nice.saturating_add(other.nice),
            system: self.system.saturating_add(other.system),
            idle: self.idle.saturating_add(other.idle),
            iowait: both(self.iowait, other.iowait),
            irq: both(self.irq, other.irq),
            softirq: both(self.softirq, other.softirq),
            steal: both(self.steal, other.steal),
        }
    }
}

/// The CPUs of this machine that run.
pub(crate) fn online() -> Option<CpuSet> {
    text::read_line("/sys/devices/system/cpu/online")
        .and_then(|line| line.parse().ok())
        .or_else(|| CpuSet::of_process(std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanos = Nanos::from_millis(10);
    const LINUX_6: &str = include_str!("../../captured/stat-6.18");
    const LINUX_4: &str = include_str!("../../captured/stat-4.19");
    const LINUX_2: &str = include_str!("../../captured/stat-2.6.9");

    #[test]
    fn the_whole_machine_is_its_first_line() {
        let host = StatFile::parse(LINUX_6, TICK).host().expect("a host");
        assert_eq!(host.capacity, 2.0);
        assert_eq!(host.busy, Nanos::from_millis(10 * (36001 + 13614 + 470)));
        assert_eq!(host.steal, Some(Nanos::from_millis(22170)));
        assert_eq!(host.iowait, Some(Nanos::from_millis(28950)));
        assert_eq!(host.nice, Some(Nanos::ZERO));
    }

    #[test]
    fn time_of_guests_is_not_counted_twice() {
        let host = StatFile::parse(LINUX_4, TICK).host().expect("a host");
        let ticks = 10132153 + 290696 + 3084719 + 2345 + 25195;
        assert_eq!(host.busy, text::times(ticks, TICK));
        assert_eq!(host.capacity, 4.0);
    }

    #[test]
    fn some_cpus_are_the_sum_of_their_lines() {
        let file = StatFile::parse(LINUX_4, TICK);
        let some = file.some(&"1,3,700".parse().expect("a set")).expect("two of them run");
        assert_eq!(some.capacity, 2.0);
        assert_eq!(some.user, Some(text::times(2583061 + 2493861, TICK)));
        assert_eq!(some.steal, Some(Nanos::ZERO));
        assert_eq!(file.some(&"700".parse().expect("a set")), None);
        assert_eq!(file.some(&CpuSet::default()), None);
    }

    #[test]
    fn columns_that_an_old_kernel_lacks_are_not_available() {
        let host = StatFile::parse(LINUX_2, TICK).host().expect("a host");
        assert_eq!(host.steal, None);
        assert!(host.iowait.is_some());
        let bare = StatFile::parse("cpu 1 2 3 4\ncpu0 1 2 3 4\n", TICK).host().expect("a host");
        assert_eq!((bare.iowait, bare.irq, bare.busy), (None, None, text::times(6, TICK)));
    }

    #[test]
    fn no_damaged_text_panics() {
        for text in [LINUX_6, LINUX_4] {
            crate::garbage::damaged(text, |text| {
                let file = StatFile::parse(text, TICK);
                (file.host(), file.some(&"0-1".parse().expect("a set")))
            });
        }
    }
}
