//! CPUs, CPU time, memory and disk of a sandbox are limited by control groups, of version 1 or 2.
//!
//! The sandbox's groups stand under `evenkeel` inside the group that this process is in itself, so that a
//! sandbox never escapes a limit that holds for its user. Version 2 allows no processes in a group that
//! hands out controllers; there the nearest group above that takes it is used.

use super::{Domain, SandboxError};
use evenkeel_sense::cpu::{CpuSet, own_folder};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cgroup {
    /// `cpuset`, `cpu`, `memory`, `blkio`; all of them at once in version 2.
    pub controllers: Vec<String>,
    /// Folder of the group, as an absolute path.
    pub path: PathBuf,
}

/// Makes groups with such limits, as for a private server, and removes them. Whether there is any: the limit of CPUs can be kept without.
pub fn try_groups(domain: &Domain) -> Result<bool, SandboxError> {
    let groups = Groups::create(&format!("try-{}", std::process::id()), domain)?;
    Ok(!groups.groups().is_empty())
}

/// The groups of one sandbox; dropping them removes them once they are empty.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<Cgroup>);

impl Groups {
    /// Creates what the limits need. Without a cpuset controller that can be used the CPUs are left to the
    /// scheduler's affinity, and there is no group; memory can only be limited by a group.
    pub(super) fn create(name: &str, domain: &Domain) -> Result<Self, SandboxError> {
        if domain.controllers().is_empty() {
            return Ok(Self::default());
        }
        match own(None).and_then(|own| create_v2(&own, name, domain)) {
            Some(Ok(groups)) => Ok(groups),
            Some(Err(error)) => {
                let limits = Domain { net: None, file_disk: None, ..domain.clone() };
                Err(SandboxError::limit_io(limits.to_string(), &error))
            }
            None => create_v1(own, name, domain),
        }
    }

    /// Takes over groups that another evenkeel created.
    pub(super) fn adopt(groups: Vec<Cgroup>) -> Self {
        Self(groups)
    }

    /// Leaves them where they are.
    pub(super) fn keep(mut self) {
        self.0.clear();
    }

    pub(super) fn groups(&self) -> &[Cgroup] {
        &self.0
    }

    pub(super) fn has(&self, controller: &str) -> bool {
        self.of(controller).is_some()
    }

    /// The group in which a controller holds; the same for all in version 2.
    pub(super) fn of(&self, controller: &str) -> Option<&Path> {
        let group = self.0.iter().find(|group| group.controllers.iter().any(|held| held == controller));
        group.map(|group| group.path.as_path())
    }

    fn folder(&self, controller: &str) -> io::Result<&Path> {
        self.of(controller).ok_or_else(|| io::Error::other("there is no control group for it"))
    }

    /// Sets or takes away the quota of CPU time.
    pub(super) fn set_quota(&self, quota: Option<f64>) -> io::Result<()> {
        set_quota(self.folder("cpu")?, quota)
    }

    /// How often the quota held back whoever is in the group.
    pub(super) fn throttled(&self) -> u64 {
        let text =
            self.of("cpu").and_then(|dir| fs::read_to_string(dir.join("cpu.stat")).ok()).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok());
        count.unwrap_or(0)
    }

    /// Sets the limit of memory, and reads what the kernel makes of it.
    pub(super) fn set_memory(&self, bytes: u64) -> io::Result<u64> {
        let dir = self.folder("memory")?;
        set_memory(dir, bytes)?;
        memory(dir).ok_or_else(|| io::Error::other("the kernel does not say what it set"))
    }

    /// The smallest limit of memory of the groups above.
    pub(super) fn memory_above(&self) -> Option<u64> {
        self.of("memory")?.ancestors().skip(1).filter_map(memory).min()
    }

    /// A group beside ours that has another weight; it needs no controller but the one of CPU time.
    pub(super) fn beside(&self, weight: u32) -> io::Result<Self> {
        let path = rival(self.folder("cpu")?);
        fs::create_dir_all(&path)?;
        let rival = Self(vec![Cgroup { controllers: vec!["cpu".into()], path: path.clone() }]);
        set_weight(&path, weight)?;
        Ok(rival)
    }

    /// All folders that there are at some time of it.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.0.iter().map(|group| group.path.clone()).chain(self.of("cpu").map(rival)).collect()
    }

    /// Takes over what an evenkeel that was killed has left of groups whose names begin so; nobody is in them.
    pub(super) fn left(prefix: &str) -> Self {
        let of_v1 = ["cpuset", "cpu", "memory", "blkio"].into_iter().filter_map(|held| own(Some(held)));
        let of_v2 = own(None).unwrap_or_default();
        let above = of_v1.chain(of_v2.ancestors().map(Path::to_owned));
        let entries =
            above.filter_map(|folder| fs::read_dir(folder.join("evenkeel")).ok()).flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        Self(ours.map(|entry| Cgroup { controllers: Vec::new(), path: entry.path() }).collect())
    }

    /// Files through which a process joins by writing "0".
    pub(super) fn doors(&self) -> Result<Vec<File>, SandboxError> {
        let open = |group: &Cgroup| {
            let path = group.path.join("cgroup.procs");
            OpenOptions::new().write(true).open(&path).map_err(SandboxError::io("open", &path))
        };
        self.0.iter().map(open).collect()
    }

    /// How many processes the kernel killed here for want of memory.
    pub(super) fn oom_kills(&self) -> u64 {
        let count = |path: PathBuf| {
            let text = fs::read_to_string(path).ok()?;
            text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse::<u64>().ok()
        };
        let files = ["memory.oom_control", "memory.events"];
        self.0.iter().flat_map(|group| files.map(|file| group.path.join(file))).filter_map(count).sum()
    }

    /// Removes the groups; a group stays busy for a moment after its last process has gone.
    fn remove(&mut self) {
        for group in self.0.drain(..) {
            for _ in 0..100 {
                match fs::remove_dir(&group.path) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    _ => break,
                }
            }
            // Other sandboxes may still be in the common parent; then it stays.
            let _ = group.path.parent().map(fs::remove_dir);
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Where the group beside one is, against which its weight is tried.
fn rival(group: &Path) -> PathBuf {
    group.with_file_name(format!("{}-rival", group.file_name().unwrap_or_default().to_string_lossy()))
}

/// Folder of this process's group, with a controller of version 1, or of version 2.
fn own(controller: Option<&str>) -> Option<PathBuf> {
    own_folder(controller).filter(|path| evenkeel_os::is_control_groups(path))
}

/// In the hierarchies of version 1, where `own` finds the groups that this process is in.
fn create_v1(
    own: fn(Option<&str>) -> Option<PathBuf>,
    name: &str,
    domain: &Domain,
) -> Result<Groups, SandboxError> {
    let mut groups = Groups::default();
    let mut add = |controller: &str, limit: &dyn Fn(&Path) -> io::Result<()>| -> io::Result<()> {
        let own = own(Some(controller));
        let absent = || format!("this system has no {controller} cgroup controller");
        let own = own.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, absent()))?;
        let path = made_v1(&own, name, limit)?;
        groups.0.push(Cgroup { controllers: vec![controller.into()], path });
        Ok(())
    };
    let refused = |part: Domain| move |error: io::Error| SandboxError::limit_io(part.to_string(), &error);
    let none = Domain::default;
    if let Some(cpus) = &domain.cpus {
        // A failure leaves the CPUs to the scheduler's affinity.
        let _ = add("cpuset", &|dir| set_cpus_v1(dir, cpus));
    }
    if domain.quota.is_some() || domain.weight.is_some() {
        let time = Domain { quota: domain.quota, weight: domain.weight, ..none() };
        add("cpu", &|dir| set_time(dir, domain)).map_err(refused(time))?;
    }
    if let Some(bytes) = domain.memory {
        add("memory", &|dir| set_memory(dir, bytes))
            .map_err(refused(Domain { memory: domain.memory, ..none() }))?;
    }
    if !domain.disk.is_none() {
        add("blkio", &|_| Ok(())).map_err(refused(domain.disk.into()))?;
    }
    Ok(groups)
}

/// Makes the group of version 1 and limits it.
fn made_v1(own: &Path, name: &str, limit: &dyn Fn(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let path = own.join("evenkeel").join(name);
    // Another evenkeel may remove the common parent while we fill it: then once more.
    let mut outcome = Ok(());
    for _ in 0..3 {
        outcome = fs::create_dir_all(&path).and_then(|()| limit(&path));
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            break;
        }
    }
    if outcome.is_err() {
        let _ = fs::remove_dir(&path);
        let _ = path.parent().map(fs::remove_dir);
    }
    outcome.map(|()| path)
}

fn set_cpus_v1(dir: &Path, cpus: &CpuSet) -> io::Result<()> {
    let parent = dir.parent().unwrap_or(dir);
    let above = parent.parent().unwrap_or(parent);
    // A new cpuset is empty, and takes nothing that its parent has not.
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if fs::read_to_string(parent.join(file))?.trim().is_empty() {
            fs::write(parent.join(file), fs::read(above.join(file))?)?;
        }
    }
    fs::write(dir.join("cpuset.mems"), fs::read(parent.join("cpuset.mems"))?)?;
    fs::write(dir.join("cpuset.cpus"), cpus.to_string())
}

/// The kernel gives a quota anew this often, in microseconds.
const PERIOD_US: u64 = 100_000;

/// Of either version.
fn set_quota(dir: &Path, quota: Option<f64>) -> io::Result<()> {
    let us = quota.map(|cpus| ((cpus * PERIOD_US as f64).round() as u64).to_string());
    match dir.join("cpu.cfs_quota_us") {
        of_v1 if of_v1.exists() => {
            fs::write(dir.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
            fs::write(of_v1, us.unwrap_or_else(|| "-1".to_owned()))
        }
        _ => {
            fs::write(dir.join("cpu.max"), format!("{} {PERIOD_US}", us.unwrap_or_else(|| "max".to_owned())))
        }
    }
}

fn set_time(dir: &Path, domain: &Domain) -> io::Result<()> {
    domain.quota.map_or(Ok(()), |quota| set_quota(dir, Some(quota)))?;
    domain.weight.map_or(Ok(()), |weight| set_weight(dir, weight))
}

/// Of either version; 100 is usual in version 2, and 1024 shares in version 1.
fn set_weight(dir: &Path, weight: u32) -> io::Result<()> {
    match dir.join("cpu.shares") {
        shares if shares.exists() => fs::write(shares, (u64::from(weight) * 1024 / 100).to_string()),
        _ => fs::write(dir.join("cpu.weight"), weight.to_string()),
    }
}

/// Of either version.
fn set_memory(dir: &Path, bytes: u64) -> io::Result<()> {
    let bytes = bytes.to_string();
    // Absent where the kernel does not count swap.
    match dir.join("memory.limit_in_bytes") {
        of_v1 if of_v1.exists() => {
            let both = dir.join("memory.memsw.limit_in_bytes");
            // The limit with swap may not fall below that without; a group that is used again has one already.
            let _ = fs::write(&both, "-1");
            fs::write(of_v1, &bytes)?;
            let _ = fs::write(&both, &bytes);
        }
        _ => {
            fs::write(dir.join("memory.max"), &bytes)?;
            let _ = fs::write(dir.join("memory.swap.max"), "0");
        }
    }
    Ok(())
}

/// The limit of a group; `None` where it has none, in version 2.
fn memory(dir: &Path) -> Option<u64> {
    let files = ["memory.limit_in_bytes", "memory.max"].map(|file| fs::read_to_string(dir.join(file)));
    files.into_iter().flatten().find_map(|text| text.trim().parse().ok())
}

/// Version 2 hands controllers down from group to group; `None` where neither this process's own nor one above has ours.
///
/// The groups of other sandboxes are looked for first: weights are compared only beside each other, and what one sandbox is handed
/// down makes a lower group offer it to the next one.
fn create_v2(own: &Path, name: &str, domain: &Domain) -> Option<io::Result<Groups>> {
    let offers = |base: &&Path| {
        let offered = fs::read_to_string(base.join("cgroup.controllers")).unwrap_or_default();
        let has = |wanted: &str| offered.split_whitespace().any(|held| held == wanted);
        domain.controllers().into_iter().all(has)
    };
    let mut bases: Vec<&Path> = own.ancestors().filter(offers).collect();
    bases.sort_by_key(|base| !base.join("evenkeel").is_dir());
    let mut outcome = None;
    for base in bases {
        outcome = Some(try_v2(base, name, domain));
        if matches!(outcome, Some(Ok(_))) {
            break;
        }
    }
    outcome
}

fn try_v2(base: &Path, name: &str, domain: &Domain) -> io::Result<Groups> {
    let wanted = domain.controllers();
    let path = base.join("evenkeel").join(name);
    let enable = wanted.iter().map(|controller| format!("+{controller}")).collect::<Vec<_>>().join(" ");
    fs::write(base.join("cgroup.subtree_control"), &enable)?;
    fs::create_dir_all(&path)?;
    let controllers = wanted.iter().map(|controller| (*controller).into()).collect();
    // From here on dropping it removes what was created.
    let groups = Groups(vec![Cgroup { controllers, path: path.clone() }]);
    fs::write(base.join("evenkeel/cgroup.subtree_control"), &enable)?;
    if let Some(cpus) = &domain.cpus {
        fs::write(path.join("cpuset.cpus"), cpus.to_string())?;
    }
    set_time(&path, domain)?;
    if let Some(bytes) = domain.memory {
        set_memory(&path, bytes)?;
    }
    Ok(groups)
}

#[cfg(test)]
mod tests;
