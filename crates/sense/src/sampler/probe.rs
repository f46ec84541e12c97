//! A probe reads everything once.

use super::plan::SensePlan;
use crate::counters::{Counters, CountersReading};
use crate::cpu::{CpuReading, CpuSet, Domain, StatFile};
use crate::disk::{Device, DeviceIo, ProcessIo};
use crate::error::SenseError;
use crate::pressure::{self, Stalled};
use crate::switches::SwitchesReading;
use evenkeel_core::Nanos;
use evenkeel_os::clock::{Clock, process_cpu};

/// What reading the context switches of one thread costs (30 us in a guest), and the share of a CPU that
/// samples may spend on it. Where a server has more threads than that allows, only the first and the
/// last reading of the run look at them.
const SWITCHES_COST: Nanos = Nanos::from_micros(30);
const SWITCHES_SHARE: u64 = 200;

pub(super) struct Probe {
    domain: Option<Domain>,
    server: Option<Domain>,
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
        let cpus = plan.domain.as_ref().and_then(Domain::cpus).filter(|_| plan.counters);
        let (counters, refused) = match cpus.map(|cpus| Counters::open(&cpus)) {
            None => (None, None),
            Some(Ok(counters)) => (Some(counters), None),
            Some(Err(refused)) => (None, Some(refused)),
        };
        let probe = Self {
            domain: plan.domain.clone(),
            server: plan.server_pid.map(Domain::Process),
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
        let cpu = |domain: &Domain| domain.read_beside(stat.as_ref());
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
