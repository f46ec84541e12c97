//! A domain uses CPU time; its utilisation theta follows from two readings of it.

pub(crate) mod cgroup;
mod process;

use crate::text;
pub use cgroup::{Cgroup, own_folder};
use evenkeel_core::Nanos;
pub use evenkeel_os::cpu::{Affinity, CPUS_MAX};
use evenkeel_os::usage::tick;
pub use process::{CpuReading, CpuSet, KernelThreads, ProcessStat};

/// Where a server runs, as far as CPU time is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuOf {
    /// The whole machine that we run on, whoever uses it.
    Host,
    /// Some of its CPUs, whoever uses them.
    Cpus(CpuSet),
    /// One process with all its threads, also those that have ended. Its capacity is what it may run on
    /// (affinity and cpuset), whatever the quota.
    Process(u32),
}

impl CpuOf {
    pub fn cpus(&self) -> Option<CpuSet> {
        match self {
            Self::Host => online(),
            Self::Cpus(cpus) => Some(online()?.intersection(cpus)),
            Self::Process(pid) => CpuSet::of_process(*pid),
        }
        .filter(|cpus| !cpus.is_empty())
    }

    pub fn read(&self) -> Option<CpuReading> {
        self.read_beside(StatFile::read().as_ref())
    }

    /// As [`CpuOf::read`], with a reading of /proc/stat that is there already.
    pub(crate) fn read_beside(&self, stat: Option<&StatFile>) -> Option<CpuReading> {
        match self {
            Self::Host => stat?.host(),
            Self::Cpus(cpus) => stat?.some(cpus),
            Self::Process(pid) => process::read(*pid),
        }
    }
}

/// Utilisation between two readings, in percent of the capacity (100: every CPU of the domain, all the
/// time). May pass 100 by the resolution of the readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuUse {
    /// Utilisation theta: time that the domain ran, without iowait and steal.
    pub total: f64,
    /// In user code; with `nice` where that is `None`.
    pub user: Option<f64>,
    /// In user code of lowered priority.
    pub nice: Option<f64>,
    /// In the kernel.
    pub system: Option<f64>,
    /// In interrupts, hard and soft.
    pub irq: Option<f64>,
    /// Idle, a disk was waited for.
    pub iowait: Option<f64>,
    /// Ready to run, the hypervisor ran somebody else.
    pub steal: Option<f64>,
    pub idle: Option<f64>,
    /// Number of CPUs that 100 percent stands for.
    pub capacity: f64,
    /// CPU time behind `total`.
    pub busy: Nanos,
}

impl CpuUse {
    /// Use between two readings that are `duration` apart.
    ///
    /// `100 (b1 - b0) / (c T)` with the times b0 and b1 of the readings, the capacity c of the later one
    /// and the duration T; the same for every part. `None` where that says nothing: no duration, no
    /// capacity, another process, or time that went backwards (a group made anew, a CPU taken away).
    pub fn between(before: &CpuReading, after: &CpuReading, duration: Nanos) -> Option<Self> {
        let whole = duration.0 as f64 * after.capacity;
        let busy = Nanos(after.busy.0.checked_sub(before.busy.0)?);
        if before.incarnation != after.incarnation {
            return None;
        }
        // The parts are not monotone for every kernel (iowait and idle by its own manual); they err by
        // a tick, so that saturating is right where refusing would lose the whole reading.
        let part = |before: Option<Nanos>, after: Option<Nanos>| text::percent(after? - before?, whole);
        Some(Self {
            total: text::percent(busy, whole)?,
            user: part(before.user, after.user),
            nice: part(before.nice, after.nice),
            system: part(before.system, after.system),
            irq: part(before.irq, after.irq),
            iowait: part(before.iowait, after.iowait),
            steal: part(before.steal, after.steal),
            idle: part(before.idle, after.idle),
            capacity: after.capacity,
            busy,
        })
    }

    /// Share of the capacity that the domain had or was denied by the hypervisor: the utilisation that
    /// the domain itself feels. Equal to `total` where steal is not known.
    pub fn wanted(&self) -> f64 {
        self.total + self.steal.unwrap_or(0.0)
    }
}

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
    use crate::garbage::{captured, damaged};

    fn reading(busy: u64, user: Option<u64>) -> CpuReading {
        CpuReading {
            busy: Nanos::from_secs(busy),
            user: user.map(Nanos::from_secs),
            capacity: 2.0,
            ..Default::default()
        }
    }

    #[test]
    fn use_is_in_percent_of_the_capacity() {
        let used = CpuUse::between(&reading(10, Some(4)), &reading(13, Some(5)), Nanos::from_secs(3));
        let used = used.expect("a use");
        assert_eq!((used.total, used.capacity, used.busy), (50.0, 2.0, Nanos::from_secs(3)));
        assert!((used.user.expect("known") - 100.0 / 6.0).abs() < 1e-9);
        assert_eq!((used.steal, used.iowait, used.idle), (None, None, None));
    }

    #[test]
    fn no_use_is_made_up_where_readings_do_not_belong_together() {
        let (before, after) = (reading(10, None), reading(13, None));
        let second = Nanos::from_secs(1);
        assert_eq!(CpuUse::between(&after, &before, second), None, "time went backwards");
        assert_eq!(CpuUse::between(&before, &after, Nanos::ZERO), None, "no duration");
        let other = CpuReading { incarnation: 7, ..after.clone() };
        assert_eq!(CpuUse::between(&before, &other, second), None, "another process");
        let nothing = CpuReading { capacity: 0.0, ..after };
        assert_eq!(CpuUse::between(&before, &nothing, second), None, "no capacity");
    }

    #[test]
    fn iowait_that_went_backwards_is_none_spent() {
        let before = CpuReading { iowait: Some(Nanos(5)), ..reading(1, None) };
        let after = CpuReading { iowait: Some(Nanos(3)), ..reading(2, None) };
        let used = CpuUse::between(&before, &after, Nanos::from_secs(1)).expect("a use");
        assert_eq!(used.iowait, Some(0.0));
    }

    #[test]
    fn what_steal_denies_counts_as_wanted() {
        let used = CpuUse { total: 80.0, steal: Some(15.0), ..Default::default() };
        assert_eq!(used.wanted(), 95.0);
        assert_eq!(CpuUse { steal: None, ..used }.wanted(), 80.0);
    }

    #[test]
    fn the_host_and_this_process_can_be_read() {
        let host = CpuOf::Host.read().expect("/proc/stat");
        assert!(host.capacity >= 1.0 && host.idle.is_some());
        let own = CpuOf::Process(std::process::id()).read().expect("/proc/self/stat");
        assert!(own.capacity >= 1.0 && own.incarnation > 0 && own.idle.is_none());
        assert_eq!(CpuOf::Process(u32::MAX).read(), None);
        assert_eq!(CpuOf::Process(0).read(), None);
    }

    const TICK: Nanos = Nanos::from_millis(10);

    #[test]
    fn the_whole_machine_is_its_first_line() {
        let host = StatFile::parse(captured("stat-6.18"), TICK).host().expect("a host");
        assert_eq!(host.capacity, 2.0);
        assert_eq!(host.busy, Nanos::from_millis(10 * (36001 + 13614 + 470)));
        assert_eq!(host.steal, Some(Nanos::from_millis(22170)));
        assert_eq!(host.iowait, Some(Nanos::from_millis(28950)));
        assert_eq!(host.nice, Some(Nanos::ZERO));
    }

    #[test]
    fn time_of_guests_is_not_counted_twice() {
        let host = StatFile::parse(captured("stat-4.19"), TICK).host().expect("a host");
        let ticks = 10132153 + 290696 + 3084719 + 2345 + 25195;
        assert_eq!(host.busy, text::times(ticks, TICK));
        assert_eq!(host.capacity, 4.0);
    }

    #[test]
    fn some_cpus_are_the_sum_of_their_lines() {
        let file = StatFile::parse(captured("stat-4.19"), TICK);
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
        for text in [captured("stat-6.18"), captured("stat-4.19")] {
            damaged(text, |text| {
                let file = StatFile::parse(text, TICK);
                (file.host(), file.some(&"0-1".parse().expect("a set")))
            });
        }
    }
}
