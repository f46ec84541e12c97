//! What the disk of a private server gives at most: so many I/Os, or bytes, in a second.
//!
//! A control group of version 1 (blkio) or 2 (io) holds the server's I/Os back. That it does is proved before the first server runs
//! under it, since it may do nothing at all: on a device that the kernel does not throttle, or where the disk is slower by itself.

use super::SandboxError;
use super::cgroup::Cgroup;
use evenkeel_sense::disk::Device;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiskLimit {
    pub iops: Option<u64>,
    pub bytes_per_s: Option<u64>,
}

impl DiskLimit {
    /// Whether it limits nothing.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// I/Os of this size per second that it lets through; the smaller of both limits holds.
    pub(super) fn expected(self, bytes: u64) -> f64 {
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

/// The words of a refusal.
pub(super) fn refused(limit: DiskLimit, reason: impl Into<String>) -> SandboxError {
    SandboxError::Limit { what: format!("the disk to {limit}"), reason: reason.into() }
}

/// Sets the limit for whoever is in these groups, on the disk that holds a folder; [`DiskLimit::default`] takes it away.
pub(super) fn set(groups: &[Cgroup], folder: &Path, limit: DiskLimit) -> Result<(), SandboxError> {
    let refuse = |reason: String| refused(limit, reason);
    let device = Device::of_path(folder).ok_or_else(|| {
        refuse(format!(
            "{} is not on a single disk (tmpfs, overlay and network file systems have none)",
            folder.display()
        ))
    })?;
    let number = device.whole();
    let group =
        groups.iter().find(|group| group.controllers.iter().any(|held| held == "io" || held == "blkio"));
    let group = group.ok_or_else(|| refuse("there is no control group for it".to_owned()))?;
    let written = match group.controllers.iter().any(|held| held == "io") {
        true => set_v2(&group.path, number, limit),
        false => set_v1(&group.path, number, limit),
    };
    written.map_err(|error| refuse(format!("device {}:{}: {error}", number.0, number.1)))
}

fn set_v2(group: &Path, (major, minor): (u32, u32), limit: DiskLimit) -> io::Result<()> {
    let word = |value: Option<u64>| value.map_or_else(|| "max".to_owned(), |value| value.to_string());
    let (iops, bytes) = (word(limit.iops), word(limit.bytes_per_s));
    fs::write(
        group.join("io.max"),
        format!("{major}:{minor} riops={iops} wiops={iops} rbps={bytes} wbps={bytes}"),
    )
}

fn set_v1(group: &Path, (major, minor): (u32, u32), limit: DiskLimit) -> io::Result<()> {
    for (what, value) in [("iops", limit.iops), ("bps", limit.bytes_per_s)] {
        for direction in ["read", "write"] {
            let file = group.join(format!("blkio.throttle.{direction}_{what}_device"));
            // Zero takes a limit away.
            fs::write(file, format!("{major}:{minor} {}", value.unwrap_or(0)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_both_limits_holds_for_an_io_of_a_size() {
        let limit = DiskLimit { iops: Some(300), bytes_per_s: Some(4 << 20) };
        assert_eq!(limit.expected(4 << 10), 300.0);
        assert_eq!(limit.expected(64 << 10), 64.0);
        assert_eq!(DiskLimit::default().expected(4096), f64::INFINITY);
        assert!(DiskLimit::default().is_none() && !limit.is_none());
    }

    #[test]
    fn each_version_of_control_groups_is_told_in_its_own_words() {
        let group = tempfile::tempdir().unwrap();
        let read = |file: &str| fs::read_to_string(group.path().join(file)).unwrap();
        let limit = DiskLimit { iops: Some(300), bytes_per_s: None };
        set_v2(group.path(), (254, 0), limit).unwrap();
        assert_eq!(read("io.max"), "254:0 riops=300 wiops=300 rbps=max wbps=max");
        set_v1(group.path(), (254, 0), limit).unwrap();
        assert_eq!(read("blkio.throttle.read_iops_device"), "254:0 300");
        assert_eq!(read("blkio.throttle.write_bps_device"), "254:0 0");
    }

    #[test]
    fn a_folder_in_memory_and_a_limit_without_a_group_are_refused() {
        let limit = DiskLimit { iops: Some(300), bytes_per_s: None };
        let refusal = set(&[], Path::new("/proc"), limit).unwrap_err().to_string();
        assert!(
            refusal
                .starts_with("cannot limit the disk to 300 I/Os per second: /proc is not on a single disk"),
            "{refusal}"
        );
    }
}
