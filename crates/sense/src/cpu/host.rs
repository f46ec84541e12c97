//! /proc/stat has the CPU time of the machine and of each of its CPUs.

use super::reading::CpuReading;
use super::set::CpuSet;
use crate::text;
use evenkeel_core::Nanos;
use evenkeel_os::usage::tick;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatFile {
    pub whole: Option<Times>,
    /// The line of each CPU that runs, by number.
    pub cpus: Vec<(u32, Times)>,
    /// Length of a tick.
    pub tick: Nanos,
}

/// One line, in ticks: user, nice, system, idle, iowait, irq, softirq and steal. Time of guests is contained in the first two already and
/// is not counted again.
type Times = [u64; 8];

impl StatFile {
    pub fn read() -> Option<Self> {
        Some(Self::parse(&text::read("/proc/stat")?, tick()))
    }

    pub fn parse(text: &str, tick: Nanos) -> Self {
        let mut file = Self { tick, ..Self::default() };
        for line in text.lines() {
            let Some((name, times)) = line.split_once(' ') else { continue };
            let Some(number) = name.strip_prefix("cpu") else { continue };
            match (number.parse(), parse(times)) {
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
        let chosen = self.cpus.iter().filter(|(cpu, _)| wanted.contains(*cpu));
        let (times, count) = chosen.fold((Times::default(), 0), |(sum, count), (_, times)| {
            (std::array::from_fn(|column| sum[column].saturating_add(times[column])), count + 1)
        });
        self.reading(times, count)
    }

    fn reading(&self, times: Times, cpus: usize) -> Option<CpuReading> {
        let time = |ticks: &[u64]| text::times(ticks.iter().copied().fold(0, u64::saturating_add), self.tick);
        let [user, nice, system, idle, iowait, irq, softirq, steal] = times;
        let some = |ticks| Some(time(&[ticks]));
        (cpus > 0).then(|| CpuReading {
            busy: time(&[user, nice, system, irq, softirq]),
            user: some(user),
            nice: some(nice),
            system: some(system),
            irq: Some(time(&[irq, softirq])),
            iowait: some(iowait),
            steal: some(steal),
            idle: some(idle),
            capacity: cpus as f64,
            resolution: self.tick,
            incarnation: 0,
        })
    }
}

/// A line without all of these columns (Linux before 2.6.11) is none.
fn parse(columns: &str) -> Option<Times> {
    let times: Vec<u64> = columns.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    times.first_chunk().copied()
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
    fn a_line_without_all_columns_is_none() {
        assert_eq!(StatFile::parse("cpu 1 2 3 4\ncpu0 1 2 3 4\n", TICK).host(), None);
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
