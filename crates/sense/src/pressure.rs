//! Pressure stall information (Linux 4.20, control groups version 2) is the time lost for want of CPU, memory or I/O.

use crate::cpu::Cgroup;
use crate::text;
use evenkeel_core::Nanos;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stalled {
    /// Share of the last ten seconds, as the kernel smooths it, in percent.
    pub avg10: f64,
    /// Time stalled since the boot, or since the group was made.
    pub total: Nanos,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceReading {
    /// At least one task was stalled.
    pub some: Option<Stalled>,
    /// All tasks that were not idle were stalled. For the CPU of a whole machine older kernels do not
    /// say, and newer ones say zero.
    pub full: Option<Stalled>,
}

/// All three, at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PressureReading {
    /// Runnable, no CPU.
    pub cpu: ResourceReading,
    /// Waiting for memory: reclaim, swap, refaults.
    pub memory: ResourceReading,
    /// Waiting for I/O.
    pub io: ResourceReading,
}

/// Stall between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Share of the time between, in percent.
    pub share: f64,
    /// The kernel's own average over ten seconds at the end, in percent.
    pub avg10: f64,
}

/// Stall for one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceStall {
    /// At least one task was stalled.
    pub some: Option<Stall>,
    /// All tasks were.
    pub full: Option<Stall>,
}

/// Pressure between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    pub cpu: ResourceStall,
    pub memory: ResourceStall,
    pub io: ResourceStall,
}

impl PressureReading {
    pub fn host() -> Self {
        let file = |name: &str| ResourceReading::read(&Path::new("/proc/pressure").join(name));
        Self { cpu: file("cpu"), memory: file("memory"), io: file("io") }
    }

    /// Of a control group; version 1 has none.
    pub fn of_group(group: &Cgroup) -> Option<Self> {
        let folder = group.pressure_folder()?;
        let file = |name: &str| ResourceReading::read(&folder.join(name));
        Some(Self { cpu: file("cpu.pressure"), memory: file("memory.pressure"), io: file("io.pressure") })
    }
}

impl ResourceReading {
    /// Reads a file; all `None` where the kernel has none.
    fn read(path: &Path) -> Self {
        text::read(path).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    pub fn parse(text: &str) -> Self {
        let line = |kind: &str| text.lines().find_map(|line| Stalled::parse(line.strip_prefix(kind)?));
        Self { some: line("some "), full: line("full ") }
    }
}

impl Stalled {
    fn parse(fields: &str) -> Option<Self> {
        let field = |key: &str| fields.split_ascii_whitespace().find_map(|field| field.strip_prefix(key));
        let avg10 = field("avg10=")?.parse().ok().filter(|share: &f64| share.is_finite())?;
        let micros = field("total=")?.parse().ok()?;
        Some(Self { avg10, total: text::times(micros, Nanos::from_micros(1)) })
    }
}

impl Pressure {
    /// Pressure between two readings that are `duration` apart.
    pub fn between(before: &PressureReading, after: &PressureReading, duration: Nanos) -> Self {
        let resource = |before: &ResourceReading, after: &ResourceReading| ResourceStall {
            some: stall(before.some, after.some, duration),
            full: stall(before.full, after.full, duration),
        };
        Self {
            cpu: resource(&before.cpu, &after.cpu),
            memory: resource(&before.memory, &after.memory),
            io: resource(&before.io, &after.io),
        }
    }
}

fn stall(before: Option<Stalled>, after: Option<Stalled>, duration: Nanos) -> Option<Stall> {
    let (before, after) = (before?, after?);
    let spent = Nanos(after.total.0.checked_sub(before.total.0)?);
    Some(Stall { share: text::percent(spent, duration.0 as f64)?, avg10: after.avg10 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU_5: &str = "some avg10=1.70 avg60=1.48 avg300=1.59 total=27741850\n";
    const IO_6: &str = "some avg10=4.47 avg60=2.57 avg300=1.11 total=23520496\n\
                        full avg10=4.09 avg60=2.25 avg300=0.97 total=22198214\n";

    #[test]
    fn both_lines_are_read_and_a_missing_one_is_not_available() {
        let io = ResourceReading::parse(IO_6);
        assert_eq!(io.full, Some(Stalled { avg10: 4.09, total: Nanos::from_micros(22198214) }));
        let cpu = ResourceReading::parse(CPU_5);
        assert_eq!((cpu.some.map(|line| line.avg10), cpu.full), (Some(1.70), None));
        assert_eq!(ResourceReading::parse(""), ResourceReading::default());
        crate::garbage::damaged(IO_6, ResourceReading::parse);
    }

    #[test]
    fn the_share_is_the_rise_of_the_total() {
        let io = |total| ResourceReading {
            some: Some(Stalled { avg10: 2.0, total: Nanos::from_millis(total) }),
            full: None,
        };
        let before = PressureReading { io: io(100), ..Default::default() };
        let after = PressureReading { io: io(400), ..Default::default() };
        let pressure = Pressure::between(&before, &after, Nanos::from_secs(3));
        assert_eq!(pressure.io.some, Some(Stall { share: 10.0, avg10: 2.0 }));
        assert_eq!((pressure.io.full, pressure.cpu.some), (None, None));
        assert_eq!(Pressure::between(&after, &before, Nanos::from_secs(3)).io.some, None);
        assert_eq!(Pressure::between(&before, &after, Nanos::ZERO).io.some, None);
    }
}
