//! A record is what the sampler hands back when a run is over.

use crate::counters::{Counters, CountersReading, CountersUse};
use crate::cpu::{CpuOf, CpuReading, CpuSet, CpuUse, KernelThreads, StatFile};
use crate::disk::{Device, DeviceIo, ProcessIo};
use crate::error::SenseError;
use crate::pressure::{Pressure, Stalled};
use crate::waits::SwitchesReading;
use crate::{pressure, text};
use evenkeel_core::Nanos;
use evenkeel_os::clock::{Clock, process_cpu};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenseSample {
    /// End, from the start of the measured phase.
    pub at: Nanos,
    pub duration: Nanos,
    /// Domain of the server: `total` is the utilisation theta.
    pub domain: Option<CpuUse>,
    pub server: Option<CpuUse>,
    /// The machine that we run on.
    pub host: Option<CpuUse>,
    pub generator_cpus: Option<CpuUse>,
    /// CPU time of this process.
    pub own: Option<Nanos>,
    /// CPU time of this machine that neither the server nor this process took, in percent of the
    /// machine: other load. The server is its process where that is known, its control group or process
    /// where that is the domain, and nothing where it runs elsewhere. Where the data are on a file disk, the kernel's threads are no other
    /// load: some work for that disk. `None` where it cannot be told apart.
    pub other_load: Option<f64>,
    pub pressure: Pressure,
    pub process_io: Option<ProcessIo>,
    /// I/O of the device that holds the data directory.
    pub device_io: Option<DeviceIo>,
    /// Context switches of the server's process.
    pub switches: Option<u64>,
    /// Hardware counters of the CPUs of the domain.
    pub counters: Option<CountersUse>,
}

#[derive(Clone, Debug, Default)]
pub struct SenseRecord {
    pub samples: Vec<SenseSample>,
    /// The same figures from the first reading to the last: the means over the run. `None` where there
    /// were not two readings.
    pub whole: Option<SenseSample>,
    /// Samples that the schedule had.
    pub planned: usize,
    /// Samples that were merged with the next one because this thread came too late for both.
    pub merged: usize,
    /// Whether the schedule was left early.
    pub stopped: bool,
    /// Device of `device_io`.
    pub device: Option<Device>,
    /// Why there are no counters although they were asked for.
    pub counters_refused: Option<String>,
}

impl SenseRecord {
    pub fn theta(&self) -> Option<f64> {
        Some(self.whole.as_ref()?.domain.as_ref()?.total)
    }
}

impl SenseSample {
    /// Between two readings of one probe; `start` is the instant of the measured phase's start on the
    /// readings' clock.
    pub(super) fn between(before: &Reading, after: &Reading, start: Nanos, domain: Option<&CpuOf>) -> Self {
        let duration = after.at - before.at;
        let cpu = |before: &Option<_>, after: &Option<_>| {
            CpuUse::between(before.as_ref()?, after.as_ref()?, duration)
        };
        let mut sample = Self {
            at: after.at - start,
            duration,
            domain: cpu(&before.domain, &after.domain),
            server: cpu(&before.server, &after.server),
            host: cpu(&before.host, &after.host),
            generator_cpus: cpu(&before.generator, &after.generator),
            own: both(&before.own, &after.own, |before, after| Some(*after - *before)),
            other_load: None,
            pressure: pressure::between(&before.pressure, &after.pressure, duration),
            process_io: both(&before.process_io, &after.process_io, |before, after| after.since(before)),
            device_io: both(&before.device_io, &after.device_io, |before, after| after.since(before)),
            switches: both(&before.switches, &after.switches, |before, after| Some(after.since(before))),
            counters: both(&before.counters, &after.counters, |before, after| {
                Some(CountersUse::between(before, after))
            }),
        };
        sample.drop_other_process();
        let kernel = both(&before.kernel, &after.kernel, |before, after| Some(after.since(before)));
        sample.other_load =
            sample.find_other_load(domain, before.server.is_some(), kernel.unwrap_or_default());
        sample
    }

    /// Only CPU time knows whether the process is still the same one; where it is not, nothing is.
    fn drop_other_process(&mut self) {
        if self.server.is_none() {
            (self.process_io, self.switches) = (None, None);
        }
    }

    fn find_other_load(&self, domain: Option<&CpuOf>, has_server: bool, kernel: Nanos) -> Option<f64> {
        let host = self.host.as_ref()?;
        let server = match domain {
            _ if has_server => self.server.as_ref()?.busy,
            None => Nanos::ZERO,
            Some(CpuOf::Process(_)) => self.domain.as_ref()?.busy,
            Some(CpuOf::Host | CpuOf::Cpus(_)) => return None,
        };
        // The parts are finer than the ticks of the whole, so that the difference may be a little below
        // nothing; the subtraction saturates.
        let other = host.busy - server - self.own? - kernel;
        text::percent(other, self.duration.0 as f64 * host.capacity)
    }
}

fn both<R, U>(before: &Option<R>, after: &Option<R>, between: impl Fn(&R, &R) -> Option<U>) -> Option<U> {
    between(before.as_ref()?, after.as_ref()?)
}

/// What reading the context switches of one thread costs (30 us in a guest), and the share of a CPU that
/// samples may spend on it. Where a server has more threads than that allows, only the first and the
/// last reading of the run look at them.
const SWITCHES_COST: Nanos = Nanos::from_micros(30);
const SWITCHES_SHARE: u64 = 200;

pub(super) struct Probe {
    domain: Option<CpuOf>,
    server: Option<CpuOf>,
    server_pid: Option<u32>,
    generator_cpus: Option<CpuSet>,
    device: Option<Device>,
    counters: Option<Counters>,
    switches_threads_max: u64,
}

/// Everything at one instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub at: Nanos,
    pub host: Option<CpuReading>,
    pub domain: Option<CpuReading>,
    pub server: Option<CpuReading>,
    pub generator: Option<CpuReading>,
    /// CPU time of this process with all its threads, also ended ones.
    pub own: Option<Nanos>,
    /// Where the data are on a file disk.
    pub kernel: Option<KernelThreads>,
    pub pressure: Stalled,
    pub process_io: Option<ProcessIo>,
    pub device_io: Option<DeviceIo>,
    pub switches: Option<SwitchesReading>,
    pub counters: Option<CountersReading>,
}

impl Probe {
    /// Opens what the plan asks for, and says why there are no counters where they were asked for.
    /// `spacing` is the time between two readings.
    pub(super) fn open(plan: &SensePlan, spacing: Nanos) -> (Self, Option<SenseError>) {
        let cpus = plan.domain.as_ref().and_then(CpuOf::cpus).filter(|_| plan.counters);
        let (counters, refused) = match cpus.map(|cpus| Counters::open(&cpus)) {
            None => (None, None),
            Some(Ok(counters)) => (Some(counters), None),
            Some(Err(refused)) => (None, Some(refused)),
        };
        let probe = Self {
            domain: plan.domain.clone(),
            server: plan.server_pid.map(CpuOf::Process),
            server_pid: plan.server_pid,
            generator_cpus: plan.generator_cpus.clone(),
            device: plan.data_dir.as_deref().and_then(Device::of_path),
            counters,
            switches_threads_max: spacing.0 / SWITCHES_SHARE / SWITCHES_COST.0,
        };
        (probe, refused)
    }

    /// The device that holds the data directory.
    pub(super) fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// Reads everything; what belongs to CPU time first and together, right behind the time stamp.
    /// `is_end` marks the first and the last reading.
    pub(super) fn read(&self, clock: &Clock, is_end: bool) -> Reading {
        let at = clock.now();
        let stat = StatFile::read();
        let cpu = |domain: &CpuOf| domain.read_beside(stat.as_ref());
        let domain = self.domain.as_ref().and_then(cpu);
        let server = self.server.as_ref().and_then(cpu);
        let own = Some(process_cpu());
        Reading {
            at,
            host: stat.as_ref().and_then(StatFile::host),
            generator: self.generator_cpus.as_ref().and_then(|cpus| stat.as_ref()?.some(cpus)),
            domain,
            server,
            own,
            kernel: self.device.as_ref().and_then(KernelThreads::behind),
            counters: self.counters.as_ref().map(Counters::read),
            pressure: pressure::host(),
            process_io: self.server_pid.and_then(ProcessIo::read),
            device_io: self.device.as_ref().and_then(|device| DeviceIo::read(device.number)),
            switches: self.switches(is_end),
        }
    }

    fn switches(&self, is_end: bool) -> Option<SwitchesReading> {
        let pid = self.server_pid?;
        let threads = crate::cpu::ProcessStat::read(pid)?.threads;
        (is_end || threads <= self.switches_threads_max).then(|| SwitchesReading::read(pid))?
    }
}

#[derive(Clone, Debug, Default)]
pub struct SensePlan {
    /// Domain of the server; `None` where it runs on another machine.
    pub domain: Option<CpuOf>,
    /// Process of the server, where it is known.
    pub server_pid: Option<u32>,
    /// CPUs that the generator is kept on; the sampling thread stays there too.
    pub generator_cpus: Option<CpuSet>,
    /// Data directory of the server, where it is on this machine.
    pub data_dir: Option<PathBuf>,
    /// From the start of the sampler to the start of the measured phase: the warm-up.
    pub delay: Nanos,
    pub duration: Nanos,
    /// Whether to open hardware counters on the CPUs of the domain.
    pub counters: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuReading;

    fn cpu(busy_millis: u64, capacity: f64) -> Option<CpuReading> {
        Some(CpuReading { busy: Nanos::from_millis(busy_millis), capacity, ..Default::default() })
    }

    fn reading(at: u64, host: u64, domain: u64, own: u64) -> Reading {
        Reading {
            at: Nanos::from_millis(at),
            host: cpu(host, 4.0),
            domain: cpu(domain, 2.0),
            own: Some(Nanos::from_millis(own)),
            ..Default::default()
        }
    }

    fn sample(domain: Option<&CpuOf>, edit: impl Fn(&mut Reading, &mut Reading)) -> SenseSample {
        let (mut before, mut after) = (reading(1000, 0, 0, 0), reading(2000, 2000, 1000, 200));
        edit(&mut before, &mut after);
        SenseSample::between(&before, &after, Nanos::from_millis(500), domain)
    }

    #[test]
    fn a_sample_knows_its_place_and_its_utilisation() {
        let sample = sample(Some(&CpuOf::Process(1)), |_, _| {});
        assert_eq!((sample.at, sample.duration), (Nanos::from_millis(1500), Nanos::from_secs(1)));
        assert_eq!(sample.domain.as_ref().map(|used| used.total), Some(50.0));
        assert_eq!(sample.host.as_ref().map(|used| used.total), Some(50.0));
        assert_eq!(sample.own, Some(Nanos::from_millis(200)));
    }

    #[test]
    fn other_load_is_what_neither_the_server_nor_we_took() {
        let of = |domain, edit: &dyn Fn(&mut Reading, &mut Reading)| sample(domain, edit).other_load;
        let with_server = |before: &mut Reading, after: &mut Reading| {
            (before.server, after.server) = (cpu(0, 2.0), cpu(1400, 2.0));
        };
        // In percent of four CPUs over one second.
        assert_eq!(of(Some(&CpuOf::Process(1)), &|_, _| {}), Some(20.0));
        assert_eq!(of(None, &|_, _| {}), Some(45.0));
        assert_eq!(of(Some(&CpuOf::Host), &|_, _| {}), None);
        assert_eq!(of(Some(&CpuOf::Host), &with_server), Some(10.0));
        let rounded = |_: &mut Reading, after: &mut Reading| after.host = cpu(1190, 4.0);
        assert_eq!(of(Some(&CpuOf::Process(1)), &rounded), Some(0.0));
    }

    #[test]
    fn a_server_that_died_takes_its_figures_along_and_no_others() {
        let sample = sample(Some(&CpuOf::Host), |before, after| {
            before.server = cpu(0, 2.0);
            after.server = None;
            before.process_io = Some(ProcessIo::default());
            after.process_io = Some(ProcessIo { read_bytes: 5, write_bytes: 0 });
        });
        assert_eq!((sample.server, sample.process_io, sample.other_load), (None, None, None));
        assert!(sample.domain.is_some() && sample.host.is_some() && sample.own.is_some());
    }
}
