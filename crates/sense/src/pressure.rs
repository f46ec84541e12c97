//! Pressure stall information (Linux 4.20, control groups version 2) is the time lost for want of CPU, memory or I/O.

use crate::cpu::Cgroup;
use crate::text;
use evenkeel_core::Nanos;
use std::collections::BTreeMap;
use std::path::Path;

/// Time stalled since the boot, or since the group was made, by resource and tasks: `io_some` where at least one task waited, `io_full`
/// where all did that were not idle. The resources are cpu, memory and io; what the kernel does not tell is not there.
pub type Stalled = BTreeMap<String, Nanos>;

/// Shares of the time between two readings by the same names, in percent.
pub type Pressure = BTreeMap<String, f64>;

pub fn host() -> Stalled {
    read(Path::new("/proc/pressure"), "")
}

/// Of a control group; version 1 has none.
pub fn of_group(group: &Cgroup) -> Option<Stalled> {
    Some(read(group.pressure_folder()?, ".pressure"))
}

fn read(folder: &Path, ending: &str) -> Stalled {
    let file = |resource: &str| text::read(folder.join(format!("{resource}{ending}"))).unwrap_or_default();
    ["cpu", "memory", "io"].into_iter().flat_map(|resource| parse(resource, &file(resource))).collect()
}

fn parse(resource: &str, text: &str) -> Stalled {
    let line = |line: &str| {
        let (tasks, fields) = line.split_once(' ')?;
        let micros = fields.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?;
        Some((format!("{resource}_{tasks}"), text::times(micros.parse().ok()?, Nanos::from_micros(1))))
    };
    text.lines().filter_map(line).collect()
}

/// Pressure between two readings that are `duration` apart.
pub fn between(before: &Stalled, after: &Stalled, duration: Nanos) -> Pressure {
    let share = |(name, after): (&String, &Nanos)| {
        let spent = Nanos(after.0.checked_sub(before.get(name)?.0)?);
        Some((name.clone(), text::percent(spent, duration.0 as f64)?))
    };
    after.iter().filter_map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU_5: &str = "some avg10=1.70 avg60=1.48 avg300=1.59 total=27741850\n";
    const IO_6: &str = "some avg10=4.47 avg60=2.57 avg300=1.11 total=23520496\n\
                        full avg10=4.09 avg60=2.25 avg300=0.97 total=22198214\n";

    #[test]
    fn both_lines_are_read_and_a_missing_one_is_not_available() {
        let io = parse("io", IO_6);
        assert_eq!((io.len(), io.get("io_full")), (2, Some(&Nanos::from_micros(22198214))));
        let cpu = parse("cpu", CPU_5);
        assert_eq!((cpu.len(), cpu.get("cpu_some")), (1, Some(&Nanos::from_micros(27741850))));
        assert_eq!(parse("io", ""), Stalled::new());
        crate::garbage::damaged(IO_6, |text| parse("io", text));
    }

    #[test]
    fn the_share_is_the_rise_of_the_total() {
        let io = |total| Stalled::from([("io_some".to_owned(), Nanos::from_millis(total))]);
        let (before, after) = (io(100), io(400));
        let pressure = between(&before, &after, Nanos::from_secs(3));
        assert_eq!(pressure, Pressure::from([("io_some".to_owned(), 10.0)]));
        let none = Pressure::new();
        assert_eq!(between(&after, &before, Nanos::from_secs(3)), none);
        assert_eq!(between(&before, &after, Nanos::ZERO), none);
        assert_eq!(between(&Stalled::new(), &after, Nanos::from_secs(3)), none);
    }
}
