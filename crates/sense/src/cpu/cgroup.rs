//! Control groups of version 1 and 2 account CPU time, and say which CPUs they grant.

use super::reading::CpuReading;
use super::set::CpuSet;
use crate::mounts::Mount;
use crate::text;
use evenkeel_core::Nanos;
use evenkeel_os::usage::tick;
use std::path::{Path, PathBuf};

/// A control group, by its folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cgroup {
    /// Version 1: a folder in each hierarchy that matters.
    V1 {
        /// In the hierarchy that counts CPU time.
        cpuacct: PathBuf,
        /// In the hierarchy that sets quotas, where there is one.
        cpu: Option<PathBuf>,
        /// In the hierarchy that grants CPUs, where there is one.
        cpuset: Option<PathBuf>,
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
        if let Some(cpuacct) = v1("cpuacct") {
            return Some(Self::V1 { cpuacct, cpu: v1("cpu"), cpuset: v1("cpuset") });
        }
        Some(Self::V2 { path: v2_folder(groups, mounts)? })
    }

    /// CPUs that its processes may use, whatever the quota; `None` where the group is gone.
    pub fn cpus(&self) -> Option<CpuSet> {
        let (files, members): (Vec<PathBuf>, _) = match self {
            Self::V1 { cpuacct, cpuset, .. } => {
                let names = ["cpuset.effective_cpus", "cpuset.cpus"];
                (cpuset.iter().flat_map(|path| names.map(|name| path.join(name))).collect(), cpuacct)
            }
            Self::V2 { path } => (vec![path.join("cpuset.cpus.effective")], path),
        };
        if !members.is_dir() {
            return None;
        }
        let granted = files.iter().find_map(|file| text::read_line(file)?.parse::<CpuSet>().ok());
        let granted = granted.or_else(super::host::online)?;
        // A server may be kept on fewer CPUs by affinity; its first process tells.
        let member = text::read_line(members.join("cgroup.procs")).and_then(|pid| pid.parse().ok());
        match member.and_then(CpuSet::of_process) {
            Some(affinity) => Some(affinity.intersection(&granted)),
            None => Some(granted),
        }
    }

    /// CPUs' worth of time that it may use: its CPUs, or less where a quota of it or of a group above says so.
    fn capacity(&self) -> Option<f64> {
        let cpus = self.cpus()?.len() as f64;
        Some(self.quota().unwrap_or(cpus).min(cpus))
    }

    /// The smallest quota of it and the groups above, in CPUs; `None` where there is none.
    pub(crate) fn quota(&self) -> Option<f64> {
        match self {
            Self::V1 { cpu: None, .. } => None,
            Self::V1 { cpu: Some(path), .. } => smallest(path, v1_quota),
            Self::V2 { path } => smallest(path, v2_quota),
        }
    }

    /// For how long quotas of it and the groups above held back threads, all CPUs together; `None` where none tells.
    pub(crate) fn held_back(&self) -> Option<Nanos> {
        let (path, key, unit) = match self {
            Self::V1 { cpu, .. } => (cpu.as_ref()?, "throttled_time", Nanos(1)),
            Self::V2 { path } => (path, "throttled_usec", Nanos::from_micros(1)),
        };
        let held = |group: &Path| text::number(&text::read(group.join("cpu.stat"))?, key);
        upwards(path).filter_map(held).reduce(u64::saturating_add).map(|count| text::times(count, unit))
    }

    /// Reads its CPU time.
    pub(super) fn read(&self) -> Option<CpuReading> {
        let reading = match self {
            Self::V1 { cpuacct, .. } => {
                let usage = text::read_line(cpuacct.join("cpuacct.usage"));
                let stat = text::read(cpuacct.join("cpuacct.stat")).unwrap_or_default();
                parse_v1(usage.as_deref(), &stat, tick())
            }
            Self::V2 { path } => parse_v2(&text::read(path.join("cpu.stat"))?),
        }?;
        Some(CpuReading { capacity: self.capacity()?, ..reading })
    }

    /// The folder whose pressure files tell of this group; version 1 has none.
    pub(crate) fn pressure_folder(&self) -> Option<&Path> {
        match self {
            Self::V1 { .. } => None,
            Self::V2 { path } => Some(path),
        }
    }
}

/// cpuacct.usage (nanoseconds) and cpuacct.stat (ticks).
fn parse_v1(usage: Option<&str>, stat: &str, tick: Nanos) -> Option<CpuReading> {
    let part = |key| text::number(stat, key).map(|ticks| text::times(ticks, tick));
    let (user, system) = (part("user"), part("system"));
    let exact = usage.and_then(|usage| usage.trim().parse().ok()).map(Nanos);
    let sum = || Some(user? + system?);
    let resolution = if exact.is_some() { Nanos(1) } else { tick };
    Some(CpuReading { busy: exact.or_else(sum)?, user, system, resolution, ..CpuReading::default() })
}

/// Reads the group's cpu.stat, which counts in microseconds.
fn parse_v2(stat: &str) -> Option<CpuReading> {
    const MICRO: Nanos = Nanos::from_micros(1);
    let time = |key| text::number(stat, key).map(|micros| text::times(micros, MICRO));
    Some(CpuReading {
        busy: time("usage_usec")?,
        user: time("user_usec"),
        system: time("system_usec"),
        resolution: MICRO,
        ..CpuReading::default()
    })
}

/// The smallest quota of a group and those above it, in CPUs.
fn smallest(group: &Path, quota: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
    upwards(group).filter_map(quota).reduce(f64::min)
}

/// A group and those above it.
pub(crate) fn upwards(group: &Path) -> impl Iterator<Item = &Path> {
    group.ancestors().take_while(|path| path.join("cgroup.procs").exists())
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
    use std::fs;

    const MOUNTS_V1: &str = include_str!("../../captured/mountinfo-hybrid");
    const MOUNTS_V2: &str = include_str!("../../captured/mountinfo-v2");
    const CPU_STAT: &str = include_str!("../../captured/cpu.stat-5.15");

    #[test]
    fn version_1_counts_nanoseconds_in_all_and_ticks_by_kind() {
        let tick = Nanos::from_millis(10);
        let reading =
            parse_v1(Some("510876913945\n"), "user 36617\nsystem 14470\n", tick).expect("a reading");
        assert_eq!(reading.busy, Nanos(510876913945));
        assert_eq!(reading.user, Some(Nanos::from_millis(366170)));
        let coarse = parse_v1(None, "user 1\nsystem 2\n", tick).expect("a reading");
        assert_eq!((coarse.busy, coarse.resolution), (Nanos::from_millis(30), tick));
        assert_eq!(parse_v1(None, "user 1\n", tick), None);
        assert_eq!(parse_v1(Some("7"), "", tick).expect("a reading").system, None);
    }

    #[test]
    fn version_2_counts_microseconds() {
        let reading = parse_v2(CPU_STAT).expect("a reading");
        assert_eq!(reading.busy, Nanos::from_micros(503738165));
        assert_eq!(reading.system, Some(Nanos::from_micros(142679864)));
        assert_eq!((reading.iowait, reading.steal, reading.idle), (None, None, None));
    }

    #[test]
    fn a_quota_is_a_number_of_cpus() {
        assert_eq!(parse_max("150000 100000"), Some(1.5));
        for none in ["max 100000", "", "0 100000", "100000 0", "1", "-1 100000"] {
            assert_eq!(parse_max(none), None, "{none:?}");
        }
    }

    #[test]
    fn the_group_of_a_process_is_found_under_its_mounts() {
        let mounts = Mount::parse(MOUNTS_V1);
        let groups = "5:cpuset:/\n4:memory:/m\n2:cpu,cpuacct:/db/one\n0::/unified/x\n";
        let v1 = Cgroup::V1 {
            cpuacct: "/sys/fs/cgroup/cpu,cpuacct/db/one".into(),
            cpu: Some("/sys/fs/cgroup/cpu,cpuacct/db/one".into()),
            cpuset: Some("/sys/fs/cgroup/cpuset".into()),
        };
        assert_eq!(Cgroup::find(groups, &mounts), Some(v1));
        let v2 = Cgroup::V2 { path: "/sys/fs/cgroup/system.slice/mariadb.service".into() };
        let mounts = Mount::parse(MOUNTS_V2);
        assert_eq!(Cgroup::find("0::/system.slice/mariadb.service\n", &mounts), Some(v2));
        assert_eq!(Cgroup::find("0::/x\n", &[]), None);
        assert_eq!(Cgroup::find("", &mounts), None);
    }

    #[test]
    fn the_capacity_is_the_smallest_quota_on_the_way_up() {
        let root = tempfile::tempdir().expect("a folder");
        let leaf = root.path().join("up/leaf");
        fs::create_dir_all(&leaf).expect("folders");
        for (folder, quota) in [("up", "50000 100000"), ("up/leaf", "max 100000")] {
            fs::write(root.path().join(folder).join("cgroup.procs"), "").expect("a file");
            fs::write(root.path().join(folder).join("cpu.max"), quota).expect("a file");
        }
        fs::write(leaf.join("cpu.stat"), CPU_STAT).expect("a file");
        let group = Cgroup::V2 { path: leaf.clone() };
        assert_eq!(group.read().expect("a reading").capacity, 0.5);
        fs::remove_file(root.path().join("up/cpu.max")).expect("removed");
        fs::write(leaf.join("cpuset.cpus.effective"), "0\n").expect("a file");
        assert_eq!(group.read().expect("a reading").capacity, 1.0);
    }

    #[test]
    fn no_damaged_text_panics() {
        crate::garbage::damaged(CPU_STAT, |text| {
            (parse_v2(text), parse_v1(Some(text), text, Nanos(10)), parse_max(text))
        });
        let mounts = Mount::parse(MOUNTS_V1);
        crate::garbage::damaged("2:cpu,cpuacct:/db\n0::/u\n", |text| Cgroup::find(text, &mounts));
    }
}
