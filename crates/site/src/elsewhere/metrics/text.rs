//! The text of node_exporter is read as far as it has CPUs, disks, memory and pressure.

use evenkeel_core::Nanos;
use evenkeel_sense::CpuReading;
use evenkeel_sense::disk::{DeviceIo, stands_alone};
use evenkeel_sense::far::{DISKS_MAX, FarReading};
use std::collections::{BTreeMap, BTreeSet};

/// CPUs that a machine can have; a page that names more is none.
const CPUS_MAX: usize = 8192;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Page {
    pub reading: FarReading,
    pub host: Option<String>,
    pub kernel: Option<String>,
    /// The time of all CPUs in all states: where it stands still, so do the counters.
    pub elapsed: Nanos,
}

#[derive(Default)]
struct Sums {
    modes: BTreeMap<String, f64>,
    cpus: BTreeSet<String>,
    disks: BTreeMap<String, DeviceIo>,
    page: Page,
}

impl Page {
    /// Reads a page; `None` where it does not tell of CPUs.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut sums = Sums::default();
        text.lines().filter_map(metric).for_each(|(name, labels, value)| sums.add(name, &labels, value));
        sums.page()
    }
}

impl Sums {
    fn add(&mut self, name: &str, labels: &[(&str, String)], value: f64) {
        let label =
            |wanted: &str| labels.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str());
        match name {
            "node_cpu_seconds_total" => {
                let (Some(cpu), Some(mode)) = (label("cpu"), label("mode")) else { return };
                // Memory stays bounded whatever a page says.
                if self.cpus.len() < CPUS_MAX || self.cpus.contains(cpu) {
                    self.cpus.insert(cpu.to_owned());
                    if KNOWN.contains(&mode) {
                        *self.modes.entry(mode.to_owned()).or_default() += value;
                    }
                }
            }
            "node_memory_MemAvailable_bytes" => {
                self.page.reading.memory_available_bytes = Some(value as u64);
            }
            "node_uname_info" => {
                let word = |name| label(name).map(|word| word.chars().take(100).collect());
                (self.page.host, self.page.kernel) = (word("nodename"), word("release"));
            }
            name => match (name.strip_prefix("node_disk_"), name.strip_prefix("node_pressure_")) {
                (Some(what), _) => self.add_disk(what, label("device").unwrap_or_default(), value),
                (_, Some(what)) => self.add_pressure(what, value),
                _ => {}
            },
        }
    }

    fn add_disk(&mut self, what: &str, device: &str, value: f64) {
        let is_new = !self.disks.contains_key(device);
        if device.is_empty() || !stands_alone(device) || (is_new && self.disks.len() >= 8 * DISKS_MAX) {
            return;
        }
        let disk = self.disks.entry(device.to_owned()).or_default();
        match what {
            "reads_completed_total" => disk.reads = value as u64,
            "read_bytes_total" => disk.read_bytes = value as u64,
            "read_time_seconds_total" => disk.read_time = nanos(value),
            "writes_completed_total" => disk.writes = value as u64,
            "written_bytes_total" => disk.write_bytes = value as u64,
            "write_time_seconds_total" => disk.write_time = nanos(value),
            "io_time_seconds_total" => disk.busy = nanos(value),
            _ => {}
        }
    }

    fn add_pressure(&mut self, what: &str, value: f64) {
        for (ending, tasks) in [("_waiting_seconds_total", "some"), ("_stalled_seconds_total", "full")] {
            if let Some(resource @ ("cpu" | "memory" | "io")) = what.strip_suffix(ending) {
                self.page.reading.pressure.insert(format!("{resource}_{tasks}"), nanos(value));
            }
        }
    }

    fn page(mut self) -> Option<Page> {
        let mode = |name: &str| self.modes.get(name).map(|seconds| nanos(*seconds));
        let (user, system) = (mode("user")?, mode("system")?);
        let nice = mode("nice");
        let irq = [mode("irq"), mode("softirq")].into_iter().flatten().reduce(|sum, time| sum + time);
        self.page.elapsed = self.modes.values().fold(Nanos::ZERO, |sum, seconds| sum + nanos(*seconds));
        self.page.reading.host = Some(CpuReading {
            busy: user + system + nice.unwrap_or_default() + irq.unwrap_or_default(),
            user: Some(user),
            nice,
            system: Some(system),
            irq,
            iowait: mode("iowait"),
            steal: mode("steal"),
            idle: mode("idle"),
            capacity: self.cpus.len() as f64,
            // The kernel's own ticks, as nearly all have them; the page does not tell.
            resolution: Nanos::from_millis(10),
            incarnation: 0,
        });
        let names: Vec<String> = self.disks.keys().cloned().collect();
        let disks = self.disks.into_iter().filter(|(name, _)| !names.iter().any(|disk| is_part(name, disk)));
        self.page.reading.disks = disks.take(DISKS_MAX).collect();
        Some(self.page)
    }
}

/// States of a CPU; the time of guests is in user and nice already.
const KNOWN: [&str; 8] = ["user", "nice", "system", "irq", "softirq", "iowait", "steal", "idle"];

/// Whether a device is a partition of a disk: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_part(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk).filter(|rest| !rest.is_empty()) else { return false };
    let number =
        if disk.ends_with(|end: char| end.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn nanos(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(seconds)
}

/// Names with their values.
type Labels<'a> = Vec<(&'a str, String)>;

/// Name, labels and value of a line; `None` for comments and for what is not a number from zero on.
fn metric(line: &str) -> Option<(&str, Labels<'_>, f64)> {
    if !line.starts_with("node_") {
        return None;
    }
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    // A time stamp may follow the value.
    let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    (value.is_finite() && (0.0..1e15).contains(&value)).then_some((name, labels, value))
}

/// `name="value",...}` and what is behind it.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    const LABELS_MAX: usize = 32;
    let mut labels = Vec::new();
    for _ in 0..LABELS_MAX {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, behind) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = behind.char_indices();
        rest = loop {
            match characters.next()? {
                (at, '"') => break &behind[at + 1..],
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    kept => kept,
                }),
                (_, kept) => value.push(kept),
            }
        };
        labels.push((name.trim(), value));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n\
        # TYPE node_cpu_seconds_total counter\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1000.5\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 10.25\n\
        node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 1.025e+01 1700000000000\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 2\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 0.5\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 0.25\n\
        node_cpu_guest_seconds_total{cpu=\"0\",mode=\"user\"} 7\n\
        node_disk_reads_completed_total{device=\"sda\"} 7\n\
        node_disk_reads_completed_total{device=\"sda1\"} 7\n\
        node_disk_io_time_seconds_total{device=\"sda\"} 1.5\n\
        node_disk_reads_completed_total{device=\"dm-0\"} 7\n\
        node_memory_MemAvailable_bytes 4.096e+09\n\
        node_pressure_io_stalled_seconds_total 1.5\n\
        node_uname_info{domainname=\"(none)\",nodename=\"db\\\"1\",release=\"6.1.0\"} 1\n";

    #[test]
    fn cpus_disks_and_names_are_read() {
        let page = Page::parse(PAGE).expect("a page");
        let host = page.reading.host.expect("CPUs");
        assert_eq!((host.capacity, host.busy), (2.0, Nanos::from_millis(23_000)));
        assert_eq!((host.steal, host.iowait), (Some(Nanos::from_millis(250)), None));
        assert_eq!(page.elapsed, Nanos::from_millis(1_023_750));
        let names: Vec<&str> = page.reading.disks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["sda"], "no partition and nothing that stands on other disks");
        assert_eq!(page.reading.disks[0].1.busy, Nanos::from_millis(1_500));
        assert_eq!(page.reading.memory_available_bytes, Some(4_096_000_000));
        assert_eq!(page.reading.pressure.get("io_full"), Some(&Nanos::from_millis(1_500)));
        assert_eq!((page.host.as_deref(), page.kernel.as_deref()), (Some("db\"1"), Some("6.1.0")));
    }

    #[test]
    fn a_page_without_cpus_is_none() {
        for text in ["", "<html>", "go_goroutines 8\n", "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 5\n"]
        {
            assert_eq!(Page::parse(text), None, "{text}");
        }
    }

    #[test]
    fn damaged_pages_do_no_harm() {
        for cut in 0..PAGE.len() {
            if let (Some(start), Some(end)) = (PAGE.get(..cut), PAGE.get(cut..)) {
                drop((Page::parse(start), Page::parse(end)));
            }
        }
        for value in ["NaN", "+Inf", "-1", "1e300", "x", ""] {
            let text = format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {value}\n");
            assert_eq!(Page::parse(&text), None, "{value}");
        }
    }

    #[test]
    fn partitions_are_told_from_disks() {
        for (name, disk, part) in [
            ("sda1", "sda", true),
            ("nvme0n1p2", "nvme0n1", true),
            ("nvme0n11", "nvme0n1", false),
            ("sdaa", "sda", false),
            ("sda", "sda", false),
        ] {
            assert_eq!(is_part(name, disk), part, "{name}");
        }
    }
}
