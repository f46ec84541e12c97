//! Where a private server runs: which of the machine's CPUs, how much of them, of memory, disk and network, written as
//! `cpus=0,quota=50%,memory=256M,file-disk=20G,net`.

use super::config::bytes;
use super::{CpuSet, SandboxError};
use evenkeel_sense::cpu::CpuOf;
use evenkeel_sense::machine::Machine;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parts that are left out limit nothing: the default is the machine as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Domain {
    pub cpus: Option<CpuSet>,
    /// CPU time at most, in CPUs.
    pub quota: Option<f64>,
    /// Part of CPUs that sandboxes contend for, from 1 to 10,000; 100 is usual.
    pub weight: Option<u32>,
    /// Most memory in bytes, the page cache included.
    pub memory: Option<u64>,
    /// What the disk gives at most, while the server is up.
    pub disk: DiskLimit,
    pub file_disk: Option<FileDisk>,
    pub net: Option<Net>,
}

/// What a disk gives at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskLimit {
    pub iops: Option<u64>,
    pub bytes_per_s: Option<u64>,
}

impl DiskLimit {
    /// What a disk gives at least, in I/Os and bytes per second: with less, the proof that it is held back would take minutes, and
    /// the start of the server too.
    pub const IOPS_MIN: u64 = 10;
    pub const BYTES_MIN: u64 = 256 << 10;

    /// Whether it limits nothing.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// I/Os of this size per second that it lets through; the smaller of both limits holds.
    pub(in crate::sandbox) fn expected(self, bytes: u64) -> f64 {
        let by_bytes = self.bytes_per_s.map(|limit| limit as f64 / bytes as f64);
        let by_count = self.iops.map(|limit| limit as f64);
        by_bytes.into_iter().chain(by_count).fold(f64::INFINITY, f64::min)
    }
}

impl fmt::Display for DiskLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.iops, self.bytes_per_s) {
            (None, None) => f.write_str("no limit"),
            (Some(iops), None) => write!(f, "{iops} I/Os per second"),
            (None, Some(bytes)) => write!(f, "{bytes} bytes per second"),
            (Some(iops), Some(bytes)) => write!(f, "{iops} I/Os and {bytes} bytes per second"),
        }
    }
}

/// The data directory is on a file system of its own, inside a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileDisk {
    pub bytes: u64,
    pub file_system: FileSystem,
}

words! {
    FileSystem {
        Ext4 = "ext4",
        Xfs = "xfs",
        Btrfs = "btrfs",
    }
}

/// The server has a network namespace and an address of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// What a TCP connection carries at most, in either direction.
    pub bytes_per_s: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DomainError(String);

/// Lowest CPU quota: the kernel's is 1 ms of 100 ms.
const QUOTA_MIN: f64 = 0.01;
const MEMORY_MIN: u64 = 16 << 20;
/// The least that XFS takes.
const FILE_DISK_MIN: u64 = 300 << 20;
/// From a slow line to more than any network.
const NET: RangeInclusive<u64> = 64 << 10..=1 << 40;

impl Domain {
    /// Each part with its key, as it is written.
    pub fn parts(&self) -> Vec<(&'static str, String)> {
        let parts = [
            ("cpus", self.cpus.as_ref().map(|cpus| cpus.to_string().replace(',', "+"))),
            ("quota", self.quota.map(|cpus| format!("{}%", (cpus * 1e5).round() / 1e3))),
            ("weight", self.weight.map(|weight| weight.to_string())),
            ("memory", self.memory.map(size)),
            ("disk-iops", self.disk.iops.map(|iops| iops.to_string())),
            ("disk-rate", self.disk.bytes_per_s.map(size)),
            ("file-disk", self.file_disk.map(|disk| disk.to_string())),
            ("net", self.net.map(|net| net.bytes_per_s.map_or_else(String::new, size))),
        ];
        parts.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// What groups have to hold the server to.
    pub(super) fn controllers(&self) -> Vec<&'static str> {
        let wanted = [
            ("cpuset", self.cpus.is_some()),
            ("cpu", self.quota.is_some() || self.weight.is_some()),
            ("memory", self.memory.is_some()),
            ("io", !self.disk.is_none()),
        ];
        wanted.into_iter().filter_map(|(name, is_wanted)| is_wanted.then_some(name)).collect()
    }

    /// Refuses CPUs, a quota or memory that this machine cannot have.
    pub fn check(&self) -> Result<(), SandboxError> {
        let (online, none) = (CpuOf::Host.cpus().unwrap_or_default(), Self::default);
        let is_there = |cpu| online.is_empty() || online.contains(cpu);
        if self.cpus.as_ref().is_some_and(|cpus| !cpus.iter().all(is_there)) {
            let cpus = Self { cpus: self.cpus.clone(), ..none() };
            return Err(cpus.refused(format!("this machine has CPUs {online}")));
        }
        let count = self.cpus.as_ref().unwrap_or(&online).len();
        if self.quota.is_some_and(|quota| count > 0 && quota >= count as f64) {
            let quota = Self { quota: self.quota, ..none() };
            return Err(
                quota.refused(format!("{count} CPUs give at most {count}00%, so it would change nothing"))
            );
        }
        match self.memory.zip(Machine::read(None).memory_bytes) {
            Some((bytes, most)) if bytes >= most => {
                let has = most as f64 / f64::from(1 << 30);
                let memory = Self { memory: self.memory, ..none() };
                Err(memory.refused(format!("this machine has only {has:.1} GiB")))
            }
            _ => Ok(()),
        }
    }

    /// That these parts cannot be, as the user wrote them.
    pub(super) fn refused(&self, reason: impl Into<String>) -> SandboxError {
        SandboxError::limit(self.to_string(), reason)
    }
}

impl From<DiskLimit> for Domain {
    fn from(disk: DiskLimit) -> Self {
        Self { disk, ..Self::default() }
    }
}

impl From<Net> for Domain {
    fn from(net: Net) -> Self {
        Self { net: Some(net), ..Self::default() }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        if parts.is_empty() {
            return f.write_str("host");
        }
        for (place, (key, value)) in parts.iter().enumerate() {
            let (comma, equals) = (if place > 0 { "," } else { "" }, if value.is_empty() { "" } else { "=" });
            write!(f, "{comma}{key}{equals}{value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FileDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&size(self.bytes))?;
        if self.file_system == FileSystem::Ext4 { Ok(()) } else { write!(f, ":{}", self.file_system) }
    }
}

/// Bytes in the largest unit that has a whole number of them.
fn size(bytes: u64) -> String {
    let units = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| bytes.to_string(), |(name, shift)| format!("{}{name}", bytes >> shift))
}

impl From<Domain> for String {
    fn from(domain: Domain) -> Self {
        domain.to_string()
    }
}

impl TryFrom<String> for Domain {
    type Error = DomainError;

    fn try_from(text: String) -> Result<Self, DomainError> {
        text.parse()
    }
}

impl FromStr for Domain {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        let mut domain = Self::default();
        if text.trim() == "host" {
            return Ok(domain);
        }
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if seen.contains(&key) {
                return Err(DomainError(format!("{key} stands twice in {text:?}")));
            }
            seen.push(key);
            domain.set(key, value)?;
        }
        Ok(domain)
    }
}

impl Domain {
    fn set(&mut self, key: &str, value: &str) -> Result<(), DomainError> {
        let like =
            |example: &str| DomainError(format!("{key}={value} is not understood; write it as {example}"));
        let number =
            |least: u64, most: u64| value.parse().ok().filter(|found| (least..=most).contains(found));
        let of_bytes = |text: &str, least: u64| bytes(text).filter(|found| *found >= least);
        match key {
            "cpus" => {
                let cpus = value.replace('+', ",").parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty());
                self.cpus = Some(cpus.ok_or_else(|| like("cpus=0, cpus=0-2 or cpus=0+2"))?);
            }
            "quota" => {
                let percent = value.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
                let cpus = percent.map(|percent| (percent * 1e3).round() / 1e5);
                let cpus = cpus.filter(|cpus| (QUOTA_MIN..=1e5).contains(cpus));
                self.quota = Some(cpus.ok_or_else(|| like("quota=50% (of one CPU), 1% or more"))?);
            }
            "weight" => {
                let weight = number(1, 10_000).and_then(|found| u32::try_from(found).ok());
                self.weight = Some(weight.ok_or_else(|| like("weight=400, from 1 to 10000; 100 is usual"))?);
            }
            "memory" => {
                self.memory =
                    Some(of_bytes(value, MEMORY_MIN).ok_or_else(|| like("memory=256M, 16M or more"))?);
            }
            "disk-iops" => {
                let iops = number(DiskLimit::IOPS_MIN, 10_000_000);
                self.disk.iops = Some(iops.ok_or_else(|| like("disk-iops=300, 10 or more"))?);
            }
            "disk-rate" => {
                let rate = of_bytes(value, DiskLimit::BYTES_MIN);
                self.disk.bytes_per_s =
                    Some(rate.ok_or_else(|| like("disk-rate=20M (bytes per second), 256K or more"))?);
            }
            "file-disk" => {
                let example = "file-disk=20G, 20G:ext4, 20G:xfs or 20G:btrfs, 300M or more";
                let disk = file_disk(value).ok_or_else(|| like(example))?;
                self.file_disk = Some(disk);
            }
            "net" if value.is_empty() => self.net = Some(Net::default()),
            "net" => {
                let rate = bytes(value)
                    .filter(|rate| NET.contains(rate))
                    .ok_or_else(|| like("net, or net=20M (bytes per second), 64K or more"))?;
                self.net = Some(Net { bytes_per_s: Some(rate) });
            }
            _ if key.parse::<u32>().is_ok() => {
                return Err(DomainError(format!(
                    "CPU {key} stands alone; write several CPUs as cpus=0+2 or cpus=0-2"
                )));
            }
            _ => {
                return Err(DomainError(format!(
                    "{key:?} is no part of a domain; write host, or some of \
                     cpus=0,quota=50%,weight=400,memory=256M,disk-iops=300,disk-rate=20M,file-disk=20G,net=20M"
                )));
            }
        }
        Ok(())
    }
}

fn file_disk(text: &str) -> Option<FileDisk> {
    let (size, name) = text.split_once(':').unwrap_or((text, FileSystem::Ext4.word()));
    let file_system = name.parse().ok()?;
    Some(FileDisk { bytes: bytes(size).filter(|bytes| *bytes >= FILE_DISK_MIN)?, file_system })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_written_as_it_is_read() {
        for text in [
            "host",
            "cpus=0,quota=50%,weight=400,memory=256M,disk-iops=300,disk-rate=20M,file-disk=20G",
            "cpus=0-1+4,quota=150.5%,net",
            "file-disk=800M:xfs,net=20M",
            "memory=268435457",
        ] {
            assert_eq!(text.parse::<Domain>().unwrap().to_string(), text);
        }
        let domain: Domain = "net=20M, quota=57%, file-disk=1G:ext4".parse().unwrap();
        assert_eq!(domain.to_string(), "quota=57%,file-disk=1G,net=20M");
        assert_eq!(domain.net, Some(Net { bytes_per_s: Some(20 << 20) }));
        assert_eq!(serde_json::to_string(&domain).unwrap(), "\"quota=57%,file-disk=1G,net=20M\"");
        assert_eq!(serde_json::from_str::<Domain>("\"quota=57%,file-disk=1G,net=20M\"").unwrap(), domain);
    }

    #[test]
    fn what_is_not_understood_is_refused_with_how_to_write_it() {
        for (text, words) in [
            ("cpus=", "write it as cpus=0"),
            ("cpus=0,2", "cpus=0+2"),
            ("quota=50", "quota=50%"),
            ("quota=nan%", "quota=50%"),
            ("quota=0%", "1% or more"),
            ("weight=0", "from 1 to 10000"),
            ("memory=1K", "16M or more"),
            ("disk-iops=-1", "10 or more"),
            ("disk-rate=1", "256K or more"),
            ("file-disk=1G:ntfs", "20G:btrfs"),
            ("file-disk=200M", "300M or more"),
            ("file-disk=99999999999999999T", "20G:xfs"),
            ("net=x", "net=20M"),
            ("net=9999999T", "net=20M"),
            ("net,net=20M", "net stands twice"),
            ("host,net", "\"host\" is no part"),
            ("", "write host"),
        ] {
            let error = text.parse::<Domain>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn cpus_that_are_not_there_and_a_quota_of_all_that_are_fit_no_machine() {
        for (text, begins) in [
            ("quota=50%,cpus=1023", "cannot set cpus=1023: this machine has CPUs"),
            ("cpus=0,quota=100%", "cannot set quota=100%: 1 CPUs"),
            ("quota=9000000%", "cannot set quota=9000000%: "),
            ("memory=900T", "cannot set memory=900T: this machine has only "),
        ] {
            let error = text.parse::<Domain>().unwrap().check().unwrap_err().to_string();
            assert!(error.starts_with(begins), "{error}");
        }
        assert!("cpus=0,quota=50%,memory=16M".parse::<Domain>().unwrap().check().is_ok());
    }
}
