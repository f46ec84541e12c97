//! A machine reports to somebody elsewhere what had been counted on it until one instant.
//!
//! Whoever asks makes differences of two readings, so that a reading that is lost on the way loses nothing but its own
//! place in time.

mod find;

pub use find::{NotFound, Wanted, find_server, listener, listens, number_inside, servers};

use crate::cpu::{CpuReading, Domain, StatFile};
use crate::disk::{DeviceIo, ProcessIo};
use crate::memory;
use crate::pressure::{self, Stalled};
use crate::text;
use evenkeel_core::Nanos;

/// Disks in a reading at most.
pub const DISKS_MAX: usize = 32;
/// A server that is not there (it is being restarted, say) is looked for again after this long.
const LOOK_AGAIN: Nanos = Nanos::from_secs(1);

/// Tells one start of this machine from all others, and from those of other machines.
pub fn boot_id() -> Option<String> {
    text::read_line("/proc/sys/kernel/random/boot_id")
}

pub fn host_name() -> Option<String> {
    text::read_line("/proc/sys/kernel/hostname")
}

/// One instant of a machine. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FarReading {
    /// On a clock that all readings of this machine share.
    pub at: Nanos,
    pub host: Option<CpuReading>,
    pub server: Option<ServerReading>,
    /// Whole disks by name, at most [`DISKS_MAX`]; no partitions and none that stand on other disks.
    pub disks: Vec<(String, DeviceIo)>,
    /// Memory that could be had without swapping, bytes.
    pub memory_available_bytes: Option<u64>,
    pub pressure: Stalled,
}

/// The server's process at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerReading {
    pub pid: u32,
    pub cpu: CpuReading,
    /// Its I/O, where whoever reads may see it.
    pub io: Option<ProcessIo>,
    /// Memory that it holds, bytes.
    pub resident_bytes: Option<u64>,
}

/// Reads the machine that it runs on.
#[derive(Debug)]
pub struct FarProbe {
    wanted: Wanted,
    server: Result<u32, NotFound>,
    looked: Nanos,
}

impl FarProbe {
    /// Looks for the server at once; `now` is on the clock of the readings.
    pub fn new(wanted: Wanted, now: Nanos) -> Self {
        Self { wanted, server: find_server(wanted), looked: now }
    }

    /// The server's process, or why there is none.
    pub fn server(&self) -> &Result<u32, NotFound> {
        &self.server
    }

    /// Everything at this instant. CPU times are read first and together.
    pub fn read(&mut self, at: Nanos) -> FarReading {
        let stat = StatFile::read();
        let server = self.read_server(at, stat.as_ref());
        let memory = text::read("/proc/meminfo").unwrap_or_default();
        FarReading {
            at,
            host: stat.as_ref().and_then(StatFile::host),
            server,
            disks: DeviceIo::whole_disks(DISKS_MAX),
            memory_available_bytes: text::number(&memory, "MemAvailable")
                .and_then(|kib| kib.checked_mul(1024)),
            pressure: pressure::host(),
        }
    }

    fn read_server(&mut self, at: Nanos, stat: Option<&StatFile>) -> Option<ServerReading> {
        if let Some(reading) = self.server.as_ref().ok().and_then(|pid| ServerReading::read(*pid, stat)) {
            return Some(reading);
        }
        if at < self.looked + LOOK_AGAIN {
            return None;
        }
        self.looked = at;
        self.server = find_server(self.wanted);
        ServerReading::read(*self.server.as_ref().ok()?, stat)
    }
}

impl ServerReading {
    fn read(pid: u32, stat: Option<&StatFile>) -> Option<Self> {
        let cpu = Domain::Process(pid).read_beside(stat)?;
        Some(Self { pid, cpu, io: ProcessIo::read(pid), resident_bytes: memory::resident(pid) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_os::clock::Clock;

    #[test]
    fn a_machine_and_a_process_on_it_are_read() {
        let clock = Clock::start();
        let mut probe = FarProbe::new(Wanted::Pid(std::process::id()), clock.now());
        let before = probe.read(clock.now());
        let after = probe.read(clock.now());
        let (before, after) = (before.server.expect("this process"), after.server.expect("this process"));
        assert!(after.cpu.busy >= before.cpu.busy && after.cpu.incarnation == before.cpu.incarnation);
        assert!(after.io.is_some() && after.resident_bytes.is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn a_process_that_is_gone_is_not_available_and_the_machine_is() {
        let mut probe = FarProbe::new(Wanted::Pid(u32::MAX), Nanos::ZERO);
        assert!(probe.server().is_err());
        let reading = probe.read(Nanos::from_secs(5));
        assert_eq!(reading.server, None);
        assert!(reading.host.is_some_and(|host| host.capacity >= 1.0));
        assert!(reading.disks.len() <= DISKS_MAX && reading.memory_available_bytes.is_some());
    }
}
