//! Readings of another machine are brought onto our clock, and into the samples of a run.

use evenkeel_core::Nanos;
use evenkeel_sense::cpu::CpuUse;
use evenkeel_sense::disk::DeviceIo;
use evenkeel_sense::far::FarReading;
use evenkeel_sense::pressure::{self, Pressure};
use evenkeel_sense::sampler::{SenseRecord, SenseSample};

/// Readings that are kept at most; of a run that brings more every second one is left out, again and again.
const KEPT_MAX: usize = 20_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Readings(Vec<FarReading>);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Machine {
    /// Ours, seen by another process: what the generator takes of it is no other load.
    pub is_ours: bool,
}

impl Readings {
    pub(super) fn push(&mut self, reading: FarReading) {
        if self.0.last().is_some_and(|last| reading.at <= last.at) {
            return;
        }
        if self.0.len() >= KEPT_MAX {
            let mut number = 0;
            self.0.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.0.push(reading);
    }

    /// The same on another clock; without those that it does not have.
    pub(super) fn by(self, clock: impl Fn(Nanos) -> Option<Nanos>) -> Self {
        let on_it = |reading: FarReading| Some(FarReading { at: clock(reading.at)?, ..reading });
        Self(self.0.into_iter().filter_map(on_it).collect())
    }

    /// Utilisation over the last half second or more, percent, for the progress line.
    pub(super) fn latest(&self) -> Option<f64> {
        const BACK: Nanos = Nanos::from_millis(500);
        let after = self.0.last()?;
        let before = self.0.iter().rev().find(|reading| reading.at + BACK <= after.at)?;
        let used = Used::between(before, after, None);
        used.server.or(used.host).map(|used| used.total)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time between two of them, by the middle one; `None` of fewer than two.
    pub(super) fn gap(&self) -> Option<Nanos> {
        let mut gaps: Vec<Nanos> = self.0.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }

    pub(super) fn resolution(&self) -> Option<Nanos> {
        let last = self.0.last()?;
        let server = last.server.as_ref().map(|server| server.cpu.resolution);
        server.or(last.host.as_ref().map(|host| host.resolution))
    }

    /// Puts what they say into a record of this machine, whose samples keep their places: CPUs, disks, pressure and
    /// process are the far machine's afterwards, or `None`. `begins` is the start of the measured phase on our clock.
    pub(super) fn fill(&self, record: &mut SenseRecord, begins: Nanos, machine: Machine) {
        let disk = self.disk(record, begins);
        let disk = disk.as_deref();
        for sample in record.samples.iter_mut().chain(record.whole.as_mut()) {
            self.fill_one(sample, begins, machine, disk);
        }
        record.device = None;
    }

    /// The disk that had most to do in the run: which one holds the data, nobody says.
    fn disk(&self, record: &SenseRecord, begins: Nanos) -> Option<String> {
        let (before, after) = self.ends(record.whole.as_ref()?, begins)?;
        let work = |(name, io): &(String, DeviceIo)| {
            let used = io.since(&of(before, name)?)?;
            Some((used.reads.saturating_add(used.writes), name.clone()))
        };
        after.disks.iter().filter_map(work).max_by_key(|(work, _)| *work).map(|(_, name)| name)
    }

    fn fill_one(&self, sample: &mut SenseSample, begins: Nanos, machine: Machine, disk: Option<&str>) {
        let ends = self.ends(sample, begins);
        let local = sample.other_load;
        let used = ends.map(|(before, after)| Used::between(before, after, disk)).unwrap_or_default();
        sample.other_load = match machine.is_ours {
            true => used.others(sample.own.unwrap_or_default()),
            // Both disturb: what keeps the server from its CPUs, and what keeps the generator from its own.
            false => [local, used.others(Nanos::ZERO)].into_iter().flatten().reduce(f64::max),
        };
        sample.process_io = used.process_io;
        sample.device_io = used.device_io;
        sample.pressure = used.pressure;
        (sample.domain, sample.server) = (used.host, used.server);
        (sample.switches, sample.counters) = (None, None);
    }

    /// The readings nearest to both ends of a sample; `None` where there is none near enough, or both are the same.
    fn ends(&self, sample: &SenseSample, begins: Nanos) -> Option<(&FarReading, &FarReading)> {
        let gap = self.gap()?;
        let end = begins + sample.at;
        // Its own times are what a difference is divided by, so that a little aside costs place and no truth.
        let tolerance = (gap + Nanos(gap.0 / 2)).max(Nanos(sample.duration.0 / 8));
        let near = |at| self.near(at, tolerance);
        let (before, after) = (near(end - sample.duration)?, near(end)?);
        // Two that are much nearer to each other than the ends would say of a moment what is asked of all of it.
        ((after.at - before.at).0 >= sample.duration.0 / 2 && after.at > before.at).then_some((before, after))
    }

    fn near(&self, at: Nanos, tolerance: Nanos) -> Option<&FarReading> {
        let next = self.0.partition_point(|reading| reading.at < at);
        let around = self.0[next.saturating_sub(1)..].iter().take(2);
        around
            .min_by_key(|reading| reading.at.0.abs_diff(at.0))
            .filter(|reading| reading.at.0.abs_diff(at.0) <= tolerance.0)
    }
}

#[derive(Default)]
struct Used {
    host: Option<CpuUse>,
    server: Option<CpuUse>,
    duration: Nanos,
    process_io: Option<evenkeel_sense::disk::ProcessIo>,
    device_io: Option<DeviceIo>,
    pressure: Pressure,
}

impl Used {
    fn between(before: &FarReading, after: &FarReading, disk: Option<&str>) -> Self {
        let duration = after.at - before.at;
        let servers = before.server.as_ref().zip(after.server.as_ref());
        let server = servers.and_then(|(before, after)| CpuUse::between(&before.cpu, &after.cpu, duration));
        let process_io = servers.and_then(|(before, after)| after.io?.since(&before.io?));
        Self {
            host: before
                .host
                .as_ref()
                .zip(after.host.as_ref())
                .and_then(|(before, after)| CpuUse::between(before, after, duration)),
            // Only CPU time knows whether it is still the same process.
            process_io: process_io.filter(|_| server.is_some()),
            server,
            duration,
            device_io: disk.and_then(|disk| of(after, disk)?.since(&of(before, disk)?)),
            pressure: pressure::between(&before.pressure, &after.pressure, duration),
        }
    }

    /// CPU time of the machine that neither the server nor (where it is ours) this process took, percent of the machine.
    fn others(&self, own: Nanos) -> Option<f64> {
        let (host, server) = (self.host.as_ref()?, self.server.as_ref()?);
        let whole = self.duration.0 as f64 * host.capacity;
        let others = host.busy - server.busy - own;
        (whole > 0.0).then(|| 100.0 * others.0 as f64 / whole)
    }
}

fn of(reading: &FarReading, disk: &str) -> Option<DeviceIo> {
    reading.disks.iter().find(|(name, _)| name == disk).map(|(_, io)| *io)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_sense::cpu::CpuReading;
    use evenkeel_sense::far::ServerReading;

    const BEGINS: Nanos = Nanos::from_secs(100);

    /// Two CPUs of which the server uses a half and others a quarter.
    fn reading(at_millis: u64) -> FarReading {
        let cpu = |per_mille: u64, incarnation| CpuReading {
            busy: Nanos::from_micros(at_millis * per_mille),
            capacity: 2.0,
            incarnation,
            ..CpuReading::default()
        };
        let disk = |reads| DeviceIo { reads, ..DeviceIo::default() };
        FarReading {
            at: Nanos::from_millis(at_millis),
            host: Some(cpu(1_500, 0)),
            server: Some(ServerReading { pid: 1, cpu: cpu(1_000, 9), ..ServerReading::default() }),
            disks: vec![("sda".into(), disk(at_millis / 100)), ("sdb".into(), disk(at_millis))],
            ..FarReading::default()
        }
    }

    fn readings(from: u64, to: u64, step: usize) -> Readings {
        let mut readings = Readings::default();
        (from..=to).step_by(step).for_each(|at| readings.push(reading(at)));
        readings
    }

    /// Three samples of a second each, from the first second of the measured phase on.
    fn record() -> SenseRecord {
        let sample = |at: u64, secs: u64| SenseSample {
            at: Nanos::from_secs(at),
            duration: Nanos::from_secs(secs),
            own: Some(Nanos::from_millis(100)),
            other_load: Some(3.0),
            ..SenseSample::default()
        };
        SenseRecord {
            samples: (2..=4).map(|at| sample(at, 1)).collect(),
            whole: Some(sample(4, 3)),
            ..SenseRecord::default()
        }
    }

    fn thetas(record: &SenseRecord) -> Vec<Option<f64>> {
        let theta = |sample: &SenseSample| sample.server.as_ref().map(|used| used.total.round());
        record.samples.iter().chain(&record.whole).map(theta).collect()
    }

    #[test]
    fn a_record_gets_the_far_figures_at_its_own_places() {
        let mut filled = record();
        readings(100_000, 106_000, 130).fill(&mut filled, BEGINS, Machine::default());
        assert_eq!(thetas(&filled), [Some(50.0); 4]);
        let whole = filled.whole.expect("all of it");
        assert_eq!(whole.domain.expect("the machine").total.round(), 75.0);
        assert_eq!(whole.other_load.map(f64::round), Some(25.0), "the larger of both machines' others");
        let reads = whole.device_io.expect("the busiest disk").reads;
        assert!((2_800..=3_200).contains(&reads), "{reads} of sdb");
    }

    #[test]
    fn what_the_generator_takes_of_its_own_machine_is_no_other_load() {
        let mut filled = record();
        readings(100_000, 106_000, 100).fill(&mut filled, BEGINS, Machine { is_ours: true });
        let others = filled.samples[0].other_load.expect("seen");
        // A quarter of two CPUs in a second are 500 ms, of which 100 ms are ours.
        assert!((others - 20.0).abs() < 0.5, "{others}");
    }

    #[test]
    fn the_latest_utilisation_is_that_of_the_last_half_second() {
        assert_eq!(readings(100_000, 100_400, 100).latest(), None);
        assert_eq!(readings(100_000, 103_000, 100).latest().map(f64::round), Some(50.0));
    }

    #[test]
    fn after_the_last_reading_nothing_is_available_and_before_it_all_is() {
        let mut filled = record();
        readings(100_000, 103_050, 100).fill(&mut filled, BEGINS, Machine::default());
        assert_eq!(thetas(&filled), [Some(50.0), Some(50.0), None, None]);
        assert_eq!(filled.whole.expect("all of it").domain, None);
        let mut silent = record();
        Readings::default().fill(&mut silent, BEGINS, Machine::default());
        assert_eq!(thetas(&silent), [None; 4]);
        assert_eq!(silent.whole.expect("all of it").other_load, Some(3.0), "this machine's own stays");
    }

    #[test]
    fn readings_that_are_rarer_than_samples_tell_of_the_whole_alone() {
        let mut filled = record();
        readings(99_700, 105_000, 2_000).fill(&mut filled, BEGINS, Machine::default());
        let thetas = thetas(&filled);
        assert_eq!(thetas[3], Some(50.0), "{thetas:?}");
        assert!(thetas.contains(&None), "{thetas:?}");
    }

    #[test]
    fn another_process_under_the_same_name_is_no_continuation() {
        let mut readings = readings(100_000, 102_500, 100);
        for at in (102_600..106_000).step_by(100) {
            let mut other = reading(at);
            other.server.as_mut().expect("a server").cpu.incarnation = 10;
            readings.push(other);
        }
        let mut filled = record();
        readings.fill(&mut filled, BEGINS, Machine::default());
        assert_eq!(thetas(&filled), [Some(50.0), None, Some(50.0), None]);
    }

    #[test]
    fn absurd_readings_do_no_harm() {
        let at = |at| FarReading { at: Nanos(at), ..reading(100_000) };
        let disk = DeviceIo { reads: u64::MAX, writes: u64::MAX, ..DeviceIo::default() };
        for times in [[0, u64::MAX - 1, u64::MAX], [0, 1, u64::MAX], [u64::MAX - 2, u64::MAX - 1, u64::MAX]] {
            let mut readings = Readings::default();
            times.into_iter().for_each(|time| readings.push(at(time)));
            readings.0[2].disks[0].1 = disk;
            let mut filled = record();
            for sample in filled.samples.iter_mut().chain(filled.whole.as_mut()) {
                sample.duration = Nanos::MAX;
            }
            readings.fill(&mut filled, BEGINS, Machine::default());
            readings.fill(&mut filled, Nanos::MAX, Machine { is_ours: true });
            assert!(readings.latest().is_none_or(f64::is_finite));
        }
    }

    #[test]
    fn memory_is_bounded_and_the_ends_stay() {
        let mut readings = Readings::default();
        (1..=3 * KEPT_MAX as u64)
            .for_each(|at| readings.push(FarReading { at: Nanos(at), ..FarReading::default() }));
        readings.push(FarReading { at: Nanos(5), ..FarReading::default() });
        assert!(readings.len() <= KEPT_MAX && readings.0.is_sorted_by_key(|reading| reading.at));
        assert_eq!(readings.0.first().map(|reading| reading.at), Some(Nanos(1)));
        assert_eq!(readings.0.last().map(|reading| reading.at), Some(Nanos(3 * KEPT_MAX as u64)));
    }
}
