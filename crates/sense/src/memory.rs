//! A process holds memory, and may still take what the machine and the control groups that it is in have left.

use crate::cpu::cgroup::{upwards, v1_folder, v2_folder};
use crate::mounts::Mount;
use crate::text;
use evenkeel_os::usage::page_size;
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
        let v1 = v1_folder(groups, mounts, "memory").map(|leaf| (leaf, V1));
        let found = v1.or_else(|| Some((v2_folder(groups, mounts)?, V2)));
        let Some((leaf, names)) = found else { return Self::default() };
        Self { groups: upwards(&leaf).map(|folder| Group { folder: folder.to_owned(), names }).collect() }
    }

    /// Bytes that may still be taken before something is swapped out or killed: the least over the machine and the
    /// groups, with the page cache counted as free; `None` where nothing tells.
    pub fn free(&self) -> Option<u64> {
        let machine = text::read("/proc/meminfo").and_then(|text| text::number(&text, "MemAvailable"));
        let machine = machine.map(|kilobytes| kilobytes.saturating_mul(1024));
        self.groups.iter().filter_map(Group::free).chain(machine).min()
    }
}

/// Bytes that a process holds now; `None` where it is gone.
pub fn resident(pid: u32) -> Option<u64> {
    parse_statm(&text::read(format!("/proc/{pid}/statm"))?, page_size())
}

/// The second column of statm, in pages.
fn parse_statm(text: &str, page_bytes: u64) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(page_bytes)
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
        let unbounded = MemoryBounds::find("4:memory:/m\n", &mounts).free();
        assert!(unbounded > Some(1 << 20), "the machine alone: {unbounded:?}");
    }

    #[test]
    fn what_a_process_holds_is_the_second_column_in_pages() {
        assert_eq!(parse_statm("765 404 375 5 0 90 0\n", 4096), Some(404 * 4096));
        assert_eq!(parse_statm("765", 4096), None);
        assert_eq!(parse_statm("1 18446744073709551615", 4096), None);
        assert!(resident(std::process::id()).expect("/proc/PID/statm") > 1 << 16);
    }
}
