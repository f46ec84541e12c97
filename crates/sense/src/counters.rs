//! Hardware counters are always those of whole CPUs.
//!
//! Per process they would have to be saved and restored at every context switch, and in a guest each
//! of these steps leaves for the hypervisor: one event cost 30 % of a server's throughput, three 60 %,
//! while three counted on whole CPUs cost nothing that could be measured and nine 12 %. So they are of whole
//! CPUs, and never more than the three events below.

use crate::cpu::CpuSet;
use crate::error::SenseError;
use crate::text;
use evenkeel_os::{open_event, user};
use std::fs::File;
use std::io::{self, Read};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Cycles of the CPUs, which stand still while a CPU sleeps.
    Cycles,
    /// Loads that missed the first-level translation buffer.
    DtlbLoadMisses,
    /// What the processor maker calls a cache miss, the last level mostly. Misleading on some guests.
    CacheMisses,
}

impl Event {
    pub const ALL: [Self; 3] = [Self::Cycles, Self::DtlbLoadMisses, Self::CacheMisses];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::DtlbLoadMisses => "DTLB load misses",
            Self::CacheMisses => "cache misses",
        }
    }

    /// Type and configuration in the kernel's numbers.
    fn code(self) -> (u32, u64) {
        const HARDWARE: u32 = 0;
        const CACHE: u32 = 3;
        /// Data translation buffer (3), reads (0 << 8), misses (1 << 16).
        const DTLB_READ_MISS: u64 = 3 | 1 << 16;
        match self {
            Self::Cycles => (HARDWARE, 0),
            Self::CacheMisses => (HARDWARE, 3),
            Self::DtlbLoadMisses => (CACHE, DTLB_READ_MISS),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub value: u64,
    /// Nanoseconds since it was opened.
    pub enabled: u64,
    /// Nanoseconds in which it had a place in the processor, which it may share with others.
    pub running: u64,
}

impl Count {
    /// Parses the three words that the kernel writes.
    pub fn parse(bytes: [u8; 24]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at * 8..][..8]);
            u64::from_ne_bytes(word)
        };
        Self { value: word(0), enabled: word(1), running: word(2) }
    }

    /// Events since an earlier count, extrapolated to the time in which the counter had no place:
    /// `dv * de / dr` with the rises of value, enabled and running time. `None` where it never ran.
    fn since(self, before: Self) -> Option<Estimate> {
        let value = self.value.checked_sub(before.value)?;
        let enabled = self.enabled.checked_sub(before.enabled)?;
        let running = self.running.checked_sub(before.running)?;
        (running > 0).then(|| Estimate {
            events: value as f64 * enabled as f64 / running as f64,
            counted: (running as f64 / enabled.max(1) as f64).min(1.0),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How many, over all CPUs of the set; an extrapolation where `counted` is below one.
    pub events: f64,
    /// Share of the time in which they were really counted, the smallest of the CPUs.
    pub counted: f64,
}

/// Counts at one instant: by event in the order of [`Event::ALL`], each by CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountersReading([Option<Vec<Count>>; 3]);

/// Events between two readings, of everything that ran on the CPUs, the kernel included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountersUse {
    pub cycles: Option<Estimate>,
    pub dtlb_load_misses: Option<Estimate>,
    /// Cache misses, of which [`Event::CacheMisses`] says more.
    pub cache_misses: Option<Estimate>,
}

impl CountersUse {
    /// Between two readings of the same counters.
    pub fn between(before: &CountersReading, after: &CountersReading) -> Self {
        let estimate = |event: usize| sum(before.0[event].as_deref()?, after.0[event].as_deref()?);
        Self { cycles: estimate(0), dtlb_load_misses: estimate(1), cache_misses: estimate(2) }
    }
}

fn sum(before: &[Count], after: &[Count]) -> Option<Estimate> {
    let each = before.iter().zip(after).map(|(before, after)| after.since(*before));
    let add = |sum: Estimate, each: Estimate| Estimate {
        events: sum.events + each.events,
        counted: sum.counted.min(each.counted),
    };
    each.reduce(|sum, each| Some(add(sum?, each?)))?
}

/// Open counters: for each event one file a CPU, closed on drop.
#[derive(Debug)]
pub struct Counters([Option<Vec<File>>; 3]);

/// Files that counters may take from those that the generator needs for its connections.
const FILES_MAX: usize = 256;

impl Counters {
    /// Opens what the kernel gives on these CPUs. An event that it does not give on each of them is
    /// left out; no event at all is an error, as is a kernel that forbids.
    pub fn open(cpus: &CpuSet) -> Result<Self, SenseError> {
        permitted()?;
        let files = cpus.len() * Event::ALL.len();
        if files > FILES_MAX {
            return Err(SenseError::CountersTooMany { cpus: cpus.len(), files, files_max: FILES_MAX });
        }
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        let opened = Event::ALL.map(|event| open(event, cpus).map_err(|error| refused = error).ok());
        if opened.iter().all(Option::is_none) {
            let cpu = cpus.iter().next().unwrap_or(0);
            return Err(SenseError::CountersRefused { cpu, source: refused });
        }
        Ok(Self(opened))
    }

    /// The events that the kernel gave.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        Event::ALL.into_iter().zip(&self.0).filter_map(|(event, files)| files.as_ref().map(|_| event))
    }

    /// Reads all of them. An event of which a file cannot be read is `None`.
    pub fn read(&self) -> CountersReading {
        let one = |mut file: &File| {
            let mut words = [0; 24];
            file.read_exact(&mut words).ok().map(|()| Count::parse(words))
        };
        CountersReading(self.0.each_ref().map(|files| files.as_ref()?.iter().map(one).collect()))
    }
}

fn open(event: Event, cpus: &CpuSet) -> io::Result<Vec<File>> {
    let (kind, config) = event.code();
    if cpus.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    cpus.iter().map(|cpu| open_event(kind, config, cpu)).collect()
}

/// Whether this process may count on whole CPUs, asked before the kernel is, so that nothing is tried
/// that an audit log would show as an offence.
fn permitted() -> Result<(), SenseError> {
    let paranoid = text::read_line("/proc/sys/kernel/perf_event_paranoid").and_then(|line| line.parse().ok());
    let paranoid: i64 = paranoid.ok_or(SenseError::CountersAbsent)?;
    let status = text::read("/proc/self/status").unwrap_or_default();
    match paranoid <= 0 || user().0 == 0 || is_capable(&status) {
        true => Ok(()),
        false => Err(SenseError::CountersForbidden { paranoid }),
    }
}

/// Whether the effective capabilities in the text of a status file hold SYS_ADMIN or PERFMON.
fn is_capable(status: &str) -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON: u64 = 1 << 38;
    let effective = text::value(status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    effective.is_some_and(|mask| mask & (SYS_ADMIN | PERFMON) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(value: u64, enabled: u64, running: u64) -> Count {
        Count { value, enabled, running }
    }

    #[test]
    fn a_counter_that_shared_its_place_is_extrapolated() {
        let estimate = count(160, 200, 150).since(count(10, 100, 100)).expect("it ran");
        assert_eq!(estimate, Estimate { events: 300.0, counted: 0.5 });
        assert_eq!(count(10, 200, 100).since(count(10, 100, 100)), None, "it never ran");
        assert_eq!(count(9, 200, 200).since(count(10, 100, 100)), None, "another counter");
    }

    #[test]
    fn the_cpus_are_added_and_one_without_an_answer_makes_the_sum_unknown() {
        let before = [count(0, 0, 0), count(0, 0, 0)];
        let sum_of = |second| sum(&before, &[count(10, 100, 100), second]);
        assert_eq!(sum_of(count(5, 100, 50)), Some(Estimate { events: 20.0, counted: 0.5 }));
        assert_eq!(sum_of(count(5, 100, 0)), None);
        assert_eq!(sum(&[], &[]), None);
    }

    #[test]
    fn an_event_that_is_missing_stays_missing() {
        let reading = |value| CountersReading([Some(vec![count(value, value, value)]), None, None]);
        let used = CountersUse::between(&reading(1), &reading(5));
        assert_eq!(used.cycles.map(|cycles| cycles.events), Some(4.0));
        assert_eq!((used.dtlb_load_misses, used.cache_misses), (None, None));
    }

    #[test]
    fn more_cpus_than_files_are_refused_before_any_is_opened() {
        let error = Counters::open(&(0..100).collect()).expect_err("300 files");
        let expected =
            matches!(error, SenseError::CountersTooMany { .. } | SenseError::CountersForbidden { .. })
                || matches!(error, SenseError::CountersAbsent);
        assert!(expected, "{error}");
    }

    #[test]
    fn a_clock_in_software_counts_on_a_cpu_where_the_kernel_allows_it() {
        const SOFTWARE: u32 = 1;
        const CPU_CLOCK: u64 = 0;
        let cpu = crate::cpu::online().expect("CPUs").iter().next().expect("a CPU");
        match open_event(SOFTWARE, CPU_CLOCK, cpu) {
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
            Ok(file) => {
                let counters = Counters([Some(vec![file]), None, None]);
                let before = counters.read();
                std::thread::sleep(std::time::Duration::from_millis(5));
                let used = CountersUse::between(&before, &counters.read());
                let cycles = used.cycles.expect("it ran all the time");
                assert!(cycles.events >= 4e6 && cycles.counted > 0.99, "{cycles:?}");
                assert_eq!(counters.events().collect::<Vec<_>>(), [Event::Cycles]);
            }
        }
    }

    #[test]
    fn this_machine_counts_or_says_why_not() {
        match Counters::open(&crate::cpu::online().expect("CPUs")) {
            Err(error) => assert!(!error.to_string().is_empty() && error.hint().is_some(), "{error}"),
            Ok(counters) => {
                assert!(counters.events().count() > 0);
                let before = counters.read();
                let after = counters.read();
                let used = CountersUse::between(&before, &after);
                let any = [used.cycles, used.dtlb_load_misses, used.cache_misses];
                assert!(any.into_iter().flatten().all(|estimate| estimate.events >= 0.0));
            }
        }
    }
}
