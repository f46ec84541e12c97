//! Memory that a process may still take: of the machine, and of the control groups it is in.

use crate::cpu::cgroup::{folder, group_of};
use crate::mounts::Mount;
use crate::text;
use std::path::PathBuf;

/// Limits from here on are none: version 1 writes its absence as the largest multiple of a page.
const NO_LIMIT: u64 = 1 << 62;

/// Where the memory of a process is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryBounds {
    groups: Vec<Group>,
}

/// A control group with a file for its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    names: Names,
}

/// What a version calls its files, and the lines of memory.stat that count page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Names {
    limit: &'static str,
    used: &'static str,
    cache: [&'static str; 2],
}

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};
const V2: Names =
    Names { limit: "memory.max", used: "memory.current", cache: ["inactive_file", "active_file"] };

impl MemoryBounds {
    /// Of a process: the groups that it is in now, up to the root.
    pub fn of_process(pid: u32) -> Self {
        let groups = text::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        Self::find(&groups, &Mount::all())
    }

    /// As [`MemoryBounds::of_process`], from the text of /proc/PID/cgroup and the mounts.
    fn find(groups: &str, mounts: &[Mount]) -> Self {
        let has_memory = |words: &str| words.split(',').any(|word| word == "memory");
        let v1 = mounts
            .iter()
            .rfind(|mount| mount.file_system == "cgroup" && has_memory(&mount.super_options))
            .and_then(|mount| Some((folder(mount, group_of(groups, has_memory)?)?, V1)));
        let v2 = || {
            let mount = mounts.iter().rfind(|mount| mount.file_system == "cgroup2")?;
            Some((folder(mount, group_of(groups, str::is_empty)?)?, V2))
        };
        let Some((leaf, names)) = v1.or_else(v2) else { return Self::default() };
        let up = leaf.ancestors().take_while(|path| path.join("cgroup.procs").exists());
        Self { groups: up.map(|folder| Group { folder: folder.to_owned(), names }).collect() }
    }

    /// Bytes that may still be taken before something is swapped out or killed: the least over the machine and the
    /// groups, with the page cache counted as free; `None` where nothing tells.
    pub fn free(&self) -> Option<u64> {
        let machine = text::read("/proc/meminfo").and_then(|text| text::number(&text, "MemAvailable"));
        let machine = machine.map(|kilobytes| kilobytes.saturating_mul(1024));
        self.groups.iter().filter_map(Group::free).chain(machine).min()
    }
}

impl Group {
    fn free(&self) -> Option<u64> {
        let number = |name: &str| text::read_line(self.folder.join(name))?.parse::<u64>().ok();
        // Version 2 writes `max`.
        let limit = number(self.names.limit).filter(|limit| *limit < NO_LIMIT)?;
        let used = number(self.names.used)?;
        let stat = text::read(self.folder.join("memory.stat")).unwrap_or_default();
        let cache = self.names.cache.iter().filter_map(|key| text::number(&stat, key)).sum::<u64>();
        Some(limit.saturating_sub(used.saturating_sub(cache)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(folder).expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.join(name), text).expect("a file");
        }
    }

    fn mount(file_system: &str, point: &Path, super_options: &str) -> Mount {
        let line = format!("1 0 0:1 / {} rw - {file_system} none {super_options}", point.display());
        Mount::parse(&line).remove(0)
    }

    #[test]
    fn the_tightest_group_on_the_way_up_tells_and_page_cache_is_free() {
        let root = tempfile::tempdir().expect("a folder");
        let up = root.path().join("db");
        write(
            &up,
            &[
                ("cgroup.procs", ""),
                ("memory.max", "1000\n"),
                ("memory.current", "900\n"),
                ("memory.stat", "anon 500\nactive_file 100\ninactive_file 150\n"),
            ],
        );
        write(&up.join("one"), &[("cgroup.procs", ""), ("memory.max", "max\n"), ("memory.current", "7\n")]);
        let bounds = MemoryBounds::find("0::/db/one\n", &[mount("cgroup2", root.path(), "rw")]);
        assert_eq!(bounds.groups.len(), 2);
        assert_eq!(bounds.free(), Some(350));
    }

    #[test]
    fn version_1_has_its_own_hierarchy_and_names() {
        let root = tempfile::tempdir().expect("a folder");
        let files = [
            ("cgroup.procs", ""),
            ("memory.limit_in_bytes", "700\n"),
            ("memory.usage_in_bytes", "600\n"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 30\ntotal_active_file 10\n"),
        ];
        write(&root.path().join("m"), &files);
        let mounts =
            [mount("cgroup2", Path::new("/nowhere"), "rw"), mount("cgroup", root.path(), "rw,memory")];
        assert_eq!(MemoryBounds::find("4:memory:/m\n0::/\n", &mounts).free(), Some(140));
        write(&root.path().join("m"), &[("memory.limit_in_bytes", "9223372036854771712\n")]);
        let machine = MemoryBounds::default().free();
        let free = MemoryBounds::find("4:memory:/m\n", &mounts).free();
        assert!(free.is_some() && free.is_some() == machine.is_some() && free > Some(1 << 20));
    }

    #[test]
    fn a_group_that_is_gone_bounds_nothing() {
        let bounds = MemoryBounds { groups: vec![Group { folder: "/no such group".into(), names: V2 }] };
        assert!(bounds.free() > Some(1 << 20), "the machine alone");
    }
}
