//! The memory that a domain takes beside its server.

use super::place::Place;
use std::fs::read_to_string;

/// Bytes that the memory group of a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Of its processes.
    pub anonymous: u64,
    /// Of the kernel, for them.
    pub kernel: u64,
}

/// Where each figure is, in version 1 and in version 2; of each the first that is there.
const KERNEL: &str = "memory.kmem.usage_in_bytes";
const ANONYMOUS: [&str; 2] = ["rss ", "anon "];

/// What the group counts now; `None` of a place without a limit of memory.
pub fn held(place: &Place) -> Option<Held> {
    let folder = place.group_of("memory")?;
    let number = |text: String| text.trim().parse().ok();
    let file = |name: &str| read_to_string(folder.join(name)).ok().and_then(number);
    let stat = read_to_string(folder.join("memory.stat")).ok()?;
    let line = |key: &str| number(stat.lines().find_map(|line| line.strip_prefix(key))?.to_owned());
    Some(Held {
        anonymous: ANONYMOUS.into_iter().find_map(line)?,
        kernel: file(KERNEL).or_else(|| line("kernel "))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_a_limit_has_no_count_of_its_own() {
        assert_eq!(held(&Place::host("/")), None);
    }
}
