//! Control groups of version 1 and 2 limit CPU time, and tell for how long they held threads back.

use crate::mounts::Mount;
use crate::text;
use evenkeel_core::Nanos;
use std::path::{Path, PathBuf};

/// A control group, by its folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cgroup {
    /// Version 1.
    V1 {
        /// In the hierarchy that sets quotas, where there is one.
        cpu: Option<PathBuf>,
    },
    /// Version 2: one folder.
    V2 {
        /// The group's folder, as an absolute path.
        path: PathBuf,
    },
}

impl Cgroup {
    /// The group that counts the CPU time of a process: by cpuacct of version 1 where it is mounted, by
    /// version 2 elsewhere. `None` where the process is gone or no hierarchy is mounted.
    pub fn of_process(pid: u32) -> Option<Self> {
        let groups = text::read(format!("/proc/{pid}/cgroup"))?;
        Self::find(&groups, &Mount::all())
    }

    /// As [`Cgroup::of_process`], from the text of /proc/PID/cgroup and the mounts.
    pub fn find(groups: &str, mounts: &[Mount]) -> Option<Self> {
        let v1 = |controller: &str| v1_folder(groups, mounts, controller);
        if v1("cpuacct").is_some() {
            return Some(Self::V1 { cpu: v1("cpu") });
        }
        Some(Self::V2 { path: v2_folder(groups, mounts)? })
    }

    /// The smallest quota of it and the groups above, in CPUs; `None` where there is none.
    pub fn quota(&self) -> Option<f64> {
        match self {
            Self::V1 { cpu: None } => None,
            Self::V1 { cpu: Some(path) } => smallest(path, v1_quota),
            Self::V2 { path } => smallest(path, v2_quota),
        }
    }

    /// For how long quotas of it and the groups above held back threads, all CPUs together; `None` where none tells.
    pub(crate) fn held_back(&self) -> Option<Nanos> {
        let (path, key, unit) = match self {
            Self::V1 { cpu } => (cpu.as_ref()?, "throttled_time", Nanos(1)),
            Self::V2 { path } => (path, "throttled_usec", Nanos::from_micros(1)),
        };
        let held = |group: &Path| text::number(&text::read(group.join("cpu.stat"))?, key);
        upwards(path).filter_map(held).reduce(u64::saturating_add).map(|count| text::times(count, unit))
    }

    /// The folder whose pressure files tell of this group; version 1 has none.
    pub(crate) fn pressure_folder(&self) -> Option<&Path> {
        match self {
            Self::V1 { .. } => None,
            Self::V2 { path } => Some(path),
        }
    }
}

/// The smallest quota of a group and those above it, in CPUs.
fn smallest(group: &Path, quota: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
    upwards(group).filter_map(quota).reduce(f64::min)
}

/// A group and those above it.
pub(crate) fn upwards(group: &Path) -> impl Iterator<Item = &Path> {
    group.ancestors().take_while(|path| path.join("cgroup.procs").exists())
}

/// Folder of the group that this process is in: in the hierarchy of version 1 that a controller has, or else in that of version 2.
pub fn own_folder(controller: Option<&str>) -> Option<PathBuf> {
    let (groups, mounts) = (text::read("/proc/self/cgroup")?, Mount::all());
    match controller {
        Some(controller) => v1_folder(&groups, &mounts, controller),
        None => v2_folder(&groups, &mounts),
    }
}

/// The folder of a process in the hierarchy of version 1 that a controller has, from the text of /proc/PID/cgroup.
pub(crate) fn v1_folder(groups: &str, mounts: &[Mount], controller: &str) -> Option<PathBuf> {
    let has = |words: &str| words.split(',').any(|word| word == controller);
    let mount = mounts.iter().rfind(|mount| mount.file_system == "cgroup" && has(&mount.super_options));
    folder(mount?, group_of(groups, has)?)
}

/// Its folder in the hierarchy of version 2.
pub(crate) fn v2_folder(groups: &str, mounts: &[Mount]) -> Option<PathBuf> {
    let mount = mounts.iter().rfind(|mount| mount.file_system == "cgroup2")?;
    folder(mount, group_of(groups, str::is_empty)?)
}

/// cpu.cfs_quota_us (-1: none) over cpu.cfs_period_us.
fn v1_quota(group: &Path) -> Option<f64> {
    let number = |name| text::read_line(group.join(name))?.parse::<i64>().ok();
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

/// cpu.max: quota (max: none) and period.
fn v2_quota(group: &Path) -> Option<f64> {
    parse_max(&text::read_line(group.join("cpu.max"))?)
}

fn parse_max(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    ratio(quota.parse().ok()?, period.trim().parse().ok()?)
}

fn ratio(quota: i64, period: i64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// The path of the first line of /proc/PID/cgroup (`number:controllers:path`) whose controllers fit.
fn group_of(groups: &str, fits: impl Fn(&str) -> bool) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        fits(controllers).then_some(path)
    })
}

/// Where the mount shows a group; inside a container it may show only the groups below its own root.
fn folder(mount: &Mount, group: &str) -> Option<PathBuf> {
    let below =
        Path::new(group).strip_prefix(&mount.root).or_else(|_| Path::new(group).strip_prefix("/")).ok()?;
    Some(mount.point.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::{captured, damaged};
    use std::fs;

    #[test]
    fn a_quota_is_a_number_of_cpus() {
        assert_eq!(parse_max("150000 100000"), Some(1.5));
        for none in ["max 100000", "", "0 100000", "100000 0", "1", "-1 100000"] {
            assert_eq!(parse_max(none), None, "{none:?}");
        }
    }

    #[test]
    fn the_group_of_a_process_is_found_under_its_mounts() {
        let mounts = Mount::parse(captured("mountinfo-hybrid"));
        let groups = "5:cpuset:/\n4:memory:/m\n2:cpu,cpuacct:/db/one\n0::/unified/x\n";
        let v1 = Cgroup::V1 { cpu: Some("/sys/fs/cgroup/cpu,cpuacct/db/one".into()) };
        assert_eq!(Cgroup::find(groups, &mounts), Some(v1));
        let v2 = Cgroup::V2 { path: "/sys/fs/cgroup/system.slice/mariadb.service".into() };
        let mounts = Mount::parse(captured("mountinfo-v2"));
        assert_eq!(Cgroup::find("0::/system.slice/mariadb.service\n", &mounts), Some(v2));
        assert_eq!(Cgroup::find("0::/x\n", &[]), None);
        assert_eq!(Cgroup::find("", &mounts), None);
    }

    #[test]
    fn the_smallest_quota_on_the_way_up_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let leaf = root.path().join("up/leaf");
        fs::create_dir_all(&leaf).expect("folders");
        for (folder, quota) in [("up", "50000 100000"), ("up/leaf", "max 100000")] {
            fs::write(root.path().join(folder).join("cgroup.procs"), "").expect("a file");
            fs::write(root.path().join(folder).join("cpu.max"), quota).expect("a file");
        }
        let group = Cgroup::V2 { path: leaf };
        assert_eq!(group.quota(), Some(0.5));
        fs::remove_file(root.path().join("up/cpu.max")).expect("removed");
        assert_eq!(group.quota(), None);
    }

    #[test]
    fn no_damaged_text_panics() {
        damaged("150000 100000", parse_max);
        let mounts = Mount::parse(captured("mountinfo-hybrid"));
        damaged("2:cpu,cpuacct:/db\n0::/u\n", |text| Cgroup::find(text, &mounts));
    }
}
