//! The memory that a domain takes beside its server.

use super::place::Place;
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// Bytes that the memory group of a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub total: u64,
    /// Of its processes.
    pub anonymous: u64,
    pub page_cache: u64,
    /// Of the kernel, for them.
    pub kernel: u64,
}

/// Where each figure is, in version 1 and in version 2; of each the first that is there.
const TOTAL: [&str; 2] = ["memory.usage_in_bytes", "memory.current"];
const KERNEL: &str = "memory.kmem.usage_in_bytes";
const ANONYMOUS: [&str; 2] = ["rss ", "anon "];
const PAGE_CACHE: [&str; 2] = ["cache ", "file "];

/// What the group counts now; `None` of a place without a limit of memory.
pub fn held(place: &Place) -> Option<Held> {
    let folder = place.group_of("memory")?;
    let number = |text: String| text.trim().parse().ok();
    let file = |name: &str| read_to_string(folder.join(name)).ok().and_then(number);
    let stat = read_to_string(folder.join("memory.stat")).ok()?;
    let line = |key: &str| number(stat.lines().find_map(|line| line.strip_prefix(key))?.to_owned());
    Some(Held {
        total: TOTAL.into_iter().find_map(file)?,
        anonymous: ANONYMOUS.into_iter().find_map(line)?,
        page_cache: PAGE_CACHE.into_iter().find_map(line)?,
        kernel: file(KERNEL).or_else(|| line("kernel "))?,
    })
}

/// Lines of /proc/meminfo that nobody can have back.
const OF_KERNEL: [&str; 4] = ["SUnreclaim:", "KernelStack:", "PageTables:", "Percpu:"];

/// Bytes that the kernel of this machine holds for itself: a domain costs what it holds more while the domain is up. On a machine with
/// other work that is rough.
pub fn kernel() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    OF_KERNEL.into_iter().map(kilobytes).sum::<Option<u64>>().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_holds_memory_and_a_place_without_a_limit_has_no_count_of_its_own() {
        assert!(kernel().unwrap() > 1 << 20);
        assert_eq!(held(&Place::host("/")), None);
    }
}
