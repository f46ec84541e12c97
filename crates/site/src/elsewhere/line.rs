//! `evenkeel sense` writes line by line, as the serialized counterpart of a machine's readings. Times are nanoseconds of
//! the far machine's monotonic clock; whatever counts has counted since that machine's boot.

use evenkeel_core::Nanos;
use evenkeel_sense::CpuReading;
use evenkeel_sense::cpu::CPUS_MAX;
use evenkeel_sense::disk::{DeviceIo, ProcessIo};
use evenkeel_sense::far::{DISKS_MAX, FarReading, ServerReading};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the lines; who reads them takes this one and no other.
pub const LINES: u32 = 1;
/// The least part of a CPU that a control group gives: a millisecond in a second.
const CPUS_MIN: f64 = 0.001;
/// A line is never longer than this, bytes.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Any line that `evenkeel sense` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    Sense(Box<Header>),
    Reading(Box<Reading>),
    /// The answer to `ping N` on standard input.
    Pong {
        ping: u64,
        /// When it was read.
        at_ns: u64,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`LINES`] of whoever writes them.
    pub lines: u32,
    pub tool: String,
    pub host: String,
    pub kernel: Option<String>,
    pub cpus: Option<u32>,
    /// Tells one start of one machine from all others.
    pub boot_id: Option<String>,
    pub governor: Option<String>,
    pub hypervisor: Option<String>,
    pub memory_bytes: Option<u64>,
    /// Time between two readings.
    pub every_ns: u64,
    /// The monotonic clock when it was written.
    pub at_ns: u64,
    pub server_pid: Option<u32>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_server: Option<String>,
}

/// What had been counted at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub at_ns: u64,
    pub cpu: Option<Cpu>,
    pub server: Option<Server>,
    /// Whole disks by name.
    #[serde(default)]
    pub disks: BTreeMap<String, Disk>,
    /// Memory that could be had without swapping, bytes.
    pub memory_available_bytes: Option<u64>,
    /// Time for which at least one task, or all, waited for want of something; absent where the kernel does not tell.
    #[serde(default)]
    pub stalled_ns: BTreeMap<String, u64>,
}

/// CPU time since the boot, or since the server's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    pub busy_ns: u64,
    pub user_ns: Option<u64>,
    pub nice_ns: Option<u64>,
    pub system_ns: Option<u64>,
    pub irq_ns: Option<u64>,
    pub iowait_ns: Option<u64>,
    pub steal_ns: Option<u64>,
    pub idle_ns: Option<u64>,
    /// CPUs' worth of time that may be used.
    pub cpus: f64,
    pub resolution_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    pub pid: u32,
    /// Its start, ticks since the boot.
    pub start: u64,
    pub cpu: Cpu,
    /// Bytes that it had disks read; absent where only root may see it.
    pub read_bytes: Option<u64>,
    /// Bytes that it had disks write.
    pub write_bytes: Option<u64>,
    /// Memory that it holds, bytes.
    pub resident_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_ns: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub write_ns: u64,
    pub busy_ns: u64,
}

impl Line {
    pub fn text(&self) -> String {
        // Maps have text for keys and numbers are finite, so that there is nothing to go wrong.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line; `None` where it is none of these.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl Cpu {
    fn of(reading: &CpuReading) -> Self {
        let ns = |time: Option<Nanos>| time.map(|time| time.0);
        Self {
            busy_ns: reading.busy.0,
            user_ns: ns(reading.user),
            nice_ns: ns(reading.nice),
            system_ns: ns(reading.system),
            irq_ns: ns(reading.irq),
            iowait_ns: ns(reading.iowait),
            steal_ns: ns(reading.steal),
            idle_ns: ns(reading.idle),
            cpus: reading.capacity,
            resolution_ns: reading.resolution.0,
        }
    }

    fn reading(&self, incarnation: u64) -> Option<CpuReading> {
        let time = |ns: Option<u64>| ns.map(Nanos);
        // A quota of less, or more CPUs, has no machine: figures of it would be no figures.
        (CPUS_MIN..=f64::from(CPUS_MAX)).contains(&self.cpus).then(|| CpuReading {
            busy: Nanos(self.busy_ns),
            user: time(self.user_ns),
            nice: time(self.nice_ns),
            system: time(self.system_ns),
            irq: time(self.irq_ns),
            iowait: time(self.iowait_ns),
            steal: time(self.steal_ns),
            idle: time(self.idle_ns),
            capacity: self.cpus,
            resolution: Nanos(self.resolution_ns),
            incarnation,
        })
    }
}

impl From<&FarReading> for Reading {
    fn from(reading: &FarReading) -> Self {
        Self {
            at_ns: reading.at.0,
            cpu: reading.host.as_ref().map(Cpu::of),
            server: reading.server.as_ref().map(Server::from),
            disks: reading.disks.iter().map(|(name, io)| (name.clone(), Disk::from(io))).collect(),
            memory_available_bytes: reading.memory_available_bytes,
            stalled_ns: reading.pressure.iter().map(|(name, time)| (name.clone(), time.0)).collect(),
        }
    }
}

impl From<&Reading> for FarReading {
    fn from(line: &Reading) -> Self {
        let disks = line.disks.iter().take(DISKS_MAX);
        Self {
            at: Nanos(line.at_ns),
            host: line.cpu.as_ref().and_then(|cpu| cpu.reading(0)),
            server: line.server.as_ref().and_then(Server::reading),
            disks: disks.map(|(name, disk)| (name.clone(), disk.into())).collect(),
            memory_available_bytes: line.memory_available_bytes,
            pressure: line.stalled_ns.iter().map(|(name, ns)| (name.clone(), Nanos(*ns))).collect(),
        }
    }
}

impl From<&ServerReading> for Server {
    fn from(server: &ServerReading) -> Self {
        Self {
            pid: server.pid,
            start: server.cpu.incarnation,
            cpu: Cpu::of(&server.cpu),
            read_bytes: server.io.map(|io| io.read_bytes),
            write_bytes: server.io.map(|io| io.write_bytes),
            resident_bytes: server.resident_bytes,
        }
    }
}

impl Server {
    fn reading(&self) -> Option<ServerReading> {
        let io = self.read_bytes.zip(self.write_bytes);
        Some(ServerReading {
            pid: self.pid,
            // Two processes that began in one tick have different numbers.
            cpu: self.cpu.reading(self.start.rotate_left(22) ^ u64::from(self.pid))?,
            io: io.map(|(read_bytes, write_bytes)| ProcessIo { read_bytes, write_bytes }),
            resident_bytes: self.resident_bytes,
        })
    }
}

impl From<&DeviceIo> for Disk {
    fn from(io: &DeviceIo) -> Self {
        Self {
            reads: io.reads,
            read_bytes: io.read_bytes,
            read_ns: io.read_time.0,
            writes: io.writes,
            write_bytes: io.write_bytes,
            write_ns: io.write_time.0,
            busy_ns: io.busy.0,
        }
    }
}

impl From<&Disk> for DeviceIo {
    fn from(disk: &Disk) -> Self {
        Self {
            reads: disk.reads,
            read_bytes: disk.read_bytes,
            read_time: Nanos(disk.read_ns),
            writes: disk.writes,
            write_bytes: disk.write_bytes,
            write_time: Nanos(disk.write_ns),
            busy: Nanos(disk.busy_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_sense::far::{FarProbe, Wanted};

    #[test]
    fn a_reading_comes_through_a_line_as_it_was() {
        let mut probe = FarProbe::new(Wanted::Pid(std::process::id()), Nanos::ZERO);
        let sent = Reading::from(&probe.read(Nanos::from_secs(7)));
        let Some(Line::Reading(heard)) = Line::parse(&Line::Reading(Box::new(sent.clone())).text()) else {
            panic!("no reading")
        };
        assert_eq!(*heard, sent);
        let reading = FarReading::from(&*heard);
        assert_eq!(Reading::from(&reading).cpu, sent.cpu);
        assert!(reading.server.is_some_and(|server| server.cpu.busy > Nanos::ZERO));
    }

    #[test]
    fn what_is_no_line_is_none() {
        for text in
            ["", "{", "Welcome to db1!", "{\"reading\":{}}", "{\"pong\":{\"ping\":-1,\"at_ns\":0}}", "[[[["]
        {
            assert_eq!(Line::parse(text), None, "{text}");
        }
        assert_eq!(
            Line::parse("{\"pong\":{\"ping\":3,\"at_ns\":9}}"),
            Some(Line::Pong { ping: 3, at_ns: 9 })
        );
    }

    #[test]
    fn a_machine_without_cpus_or_with_none_to_speak_of_says_nothing() {
        for cpus in [0.0, -1.0, 1e-308, 1e308, f64::NAN] {
            let line = Reading { cpu: Some(Cpu { cpus, ..Cpu::default() }), ..Reading::default() };
            assert_eq!(FarReading::from(&line).host, None, "{cpus}");
        }
    }
}
