//! The manifest describes the environment of a run, for somebody who wants the same figures again.

use crate::cpu::CpuSet;
use crate::disk::Device;
use crate::mounts::Mount;
use crate::{cpu, text};
use evenkeel_os::cpu::hypervisor_signature;
use std::path::Path;

/// The machine that we run on. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    pub processor: Option<String>,
    /// CPUs that run.
    pub cpus: Option<CpuSet>,
    /// Frequency governor, `performance` say; the guest of a hypervisor mostly has none.
    pub governor: Option<String>,
    /// Hypervisor that it runs under.
    pub hypervisor: Hypervisor,
    pub memory_bytes: Option<u64>,
    /// Memory that could be had without swapping, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Swap in use, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// Kernel, `6.1.0-28-amd64` say.
    pub kernel: Option<String>,
    /// Distribution by its own name, `Debian GNU/Linux 12 (bookworm)` say.
    pub distribution: Option<String>,
    /// Clock that the kernel tells time by, `tsc` say; a slow one slows every time stamp.
    pub clock_source: Option<String>,
    /// Processes running or waiting for a disk, averaged over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    pub storage: Option<Storage>,
}

/// Whether a hypervisor is below, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hypervisor {
    /// Whether the processor says that there is one; `None` where it has no way to say so.
    pub present: Option<bool>,
    /// What it calls itself: `KVM`, `Xen`, `VMware` ...
    pub name: Option<String>,
    /// What the firmware calls the machine, maker and product; of real machines too.
    pub product: Option<String>,
}

impl Machine {
    /// Reads everything; `data_dir` is the server's data directory, where it is on this machine.
    pub fn read(data_dir: Option<&Path>) -> Self {
        let processors = text::read("/proc/cpuinfo").unwrap_or_default();
        let memory = text::read("/proc/meminfo").unwrap_or_default();
        let bytes = |key| text::number(&memory, key).and_then(|kib| kib.checked_mul(1024));
        Self {
            processor: model(&processors),
            cpus: cpu::online(),
            governor: text::read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            hypervisor: Hypervisor::read(&processors),
            memory_bytes: bytes("MemTotal"),
            memory_available_bytes: bytes("MemAvailable"),
            swap_used_bytes: bytes("SwapTotal")
                .zip(bytes("SwapFree"))
                .map(|(all, free)| all.saturating_sub(free)),
            kernel: text::read_line("/proc/sys/kernel/osrelease"),
            distribution: distribution(),
            clock_source: text::read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            load_average: text::read_line("/proc/loadavg").and_then(|line| parse_load(&line)),
            storage: data_dir.and_then(Storage::of_path),
        }
    }
}

impl Hypervisor {
    fn read(processors: &str) -> Self {
        let dmi = |name: &str| text::read_line(format!("/sys/class/dmi/id/{name}"));
        let words: Vec<String> = ["sys_vendor", "product_name"].into_iter().filter_map(dmi).collect();
        let xen = text::read_line("/sys/hypervisor/type").map(|_| "Xen".to_owned());
        let name = hypervisor_signature().map(|signature| hypervisor_name(&signature)).or(xen);
        let flag =
            text::value(processors, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        Self {
            // A guest of Xen of the old kind has no such flag.
            present: if name.is_some() { Some(true) } else { flag },
            name,
            product: (!words.is_empty()).then(|| words.join(" ")),
        }
    }
}

/// The common name behind a hypervisor's signature.
fn hypervisor_name(signature: &str) -> String {
    let known = [
        ("KVMKVMKVM", "KVM"),
        ("XenVMMXenVMM", "Xen"),
        ("VMwareVMware", "VMware"),
        ("MicrosoftHv", "Hyper-V"),
        ("TCGTCGTCGTCG", "QEMU"),
        ("VBoxVBoxVBox", "VirtualBox"),
        ("bhyvebhyve", "bhyve"),
        ("ACRNACRNACRN", "ACRN"),
    ];
    let name = known.iter().find(|(known, _)| signature.starts_with(known)).map(|(_, name)| *name);
    name.unwrap_or(signature).to_owned()
}

fn distribution() -> Option<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    files.iter().find_map(|file| parse_release(&text::read(file)?))
}

/// PRETTY_NAME of an os-release file, which may be quoted as in a shell.
fn parse_release(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = name.trim_matches(|mark| mark == '"' || mark == '\'');
    (!name.is_empty()).then(|| name.to_owned())
}

fn parse_load(line: &str) -> Option<[f64; 3]> {
    let mut numbers =
        line.split_ascii_whitespace().map(|word| word.parse::<f64>().ok().filter(|n| n.is_finite()));
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// File system and device below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// `ext4`, `xfs`, `overlay`, `tmpfs` ...
    pub file_system: String,
    /// Options of the mount and of the file system, each once: `rw,noatime,discard` say.
    pub options: String,
    /// What is mounted there, a device file mostly.
    pub source: String,
    /// The block device; `None` where no single one holds the path.
    pub device: Option<Device>,
}

impl Storage {
    /// Of a path; of what does not exist, of the nearest folder above. `None` without /proc.
    pub fn of_path(path: &Path) -> Option<Self> {
        let path = crate::disk::existing(path)?;
        let mut storage = Self::find(&path, &Mount::all())?;
        storage.device = Device::of_path(&path);
        Some(storage)
    }

    fn find(path: &Path, mounts: &[Mount]) -> Option<Self> {
        let mount = Mount::of(mounts, path)?;
        Some(Self {
            file_system: mount.file_system.clone(),
            options: merge(&mount.options, &mount.super_options),
            source: mount.source.clone(),
            device: None,
        })
    }
}

/// Options of both kinds. A read-only mount of a writable file system is read-only.
fn merge(mount: &str, file_system: &str) -> String {
    let own: Vec<&str> = mount.split(',').collect();
    let more =
        file_system.split(',').filter(|word| !own.contains(word) && !matches!(*word, "rw" | "ro" | ""));
    own.iter().copied().chain(more).collect::<Vec<_>>().join(",")
}

/// x86 has a name; others have another word for it, or (64-bit ARM) only the numbers of maker and part.
fn model(text: &str) -> Option<String> {
    let name = ["model name", "cpu model", "cpu", "uarch"].iter().find_map(|key| text::value(text, key));
    let numbers = || {
        let (maker, part) = (text::value(text, "CPU implementer")?, text::value(text, "CPU part")?);
        Some(format!("ARM implementer {maker} part {part}"))
    };
    name.map(str::to_owned).or_else(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::{captured, damaged};

    #[test]
    fn this_machine_tells_what_every_linux_tells() {
        let machine = Machine::read(Some(Path::new("/")));
        assert!(!machine.cpus.expect("CPUs").is_empty());
        assert!(machine.memory_bytes.expect("memory") > 1 << 20);
        assert!(machine.kernel.is_some() && machine.load_average.is_some());
        assert!(machine.storage.is_some());
        assert_eq!(Machine::read(None).storage, None);
    }

    #[test]
    fn an_architecture_with_names_gives_the_name() {
        assert_eq!(model(captured("cpuinfo-x86")).as_deref(), Some("AMD EPYC 7763 64-Core Processor"));
    }

    #[test]
    fn an_architecture_without_names_gives_numbers() {
        assert_eq!(model(captured("cpuinfo-arm64")).as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!(model(""), None);
        damaged(captured("cpuinfo-x86"), model);
    }
}
