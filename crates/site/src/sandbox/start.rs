//! How the process of a server is started: what is drawn anew by each start can be switched off.

use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// As any program.
    #[default]
    Plain,
    /// With its memory at the same addresses each time (`setarch -R`).
    NoAslr,
    /// With its buffer pool in huge pages, which the machine has set aside before.
    HugePages,
}

/// Why a server cannot be started so on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("{0:?} is none of plain, no-aslr and huge-pages")]
    Unknown(String),
    #[error(
        "this machine does not let a process choose fixed addresses (personality is refused, as in many containers)"
    )]
    NoAslr,
    #[error(
        "there are {free_mib} MiB of free huge pages; set some aside by `sysctl vm.nr_hugepages=128` as root, which is {needed_mib} MiB at 2 MiB each"
    )]
    HugePages { free_mib: u64, needed_mib: u64 },
}

/// A small buffer pool with what belongs to it.
const NEEDED_MIB: u64 = 256;

impl Start {
    pub const ALL: [Self; 3] = [Self::Plain, Self::NoAslr, Self::HugePages];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::NoAslr => "no-aslr",
            Self::HugePages => "huge-pages",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn from_name(name: &str) -> Result<Self, StartError> {
        Self::ALL
            .into_iter()
            .find(|start| start.name() == name)
            .ok_or_else(|| StartError::Unknown(name.to_owned()))
    }

    /// Whether this machine allows it.
    ///
    /// # Errors
    /// Why it does not, and what would help.
    pub fn check(self) -> Result<(), StartError> {
        match self {
            Self::Plain => Ok(()),
            Self::NoAslr if evenkeel_os::may_fix_addresses() => Ok(()),
            Self::NoAslr => Err(StartError::NoAslr),
            Self::HugePages => enough(free_mib(Path::new("/proc/meminfo"))),
        }
    }

    pub fn setting(self) -> Option<(&'static str, &'static str)> {
        (self == Self::HugePages).then_some(("large_pages", "ON"))
    }
}

fn enough(free_mib: u64) -> Result<(), StartError> {
    if free_mib >= NEEDED_MIB {
        Ok(())
    } else {
        Err(StartError::HugePages { free_mib, needed_mib: NEEDED_MIB })
    }
}

/// Huge pages that nobody has, in MiB; none where the kernel does not tell.
fn free_mib(meminfo: &Path) -> u64 {
    let text = std::fs::read_to_string(meminfo).unwrap_or_default();
    let number = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let kib = number("HugePages_Free:").zip(number("Hugepagesize:")).map_or(0, |(pages, kib)| pages * kib);
    kib / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_that_are_not_set_aside_are_refused_with_the_way_to_have_them() {
        let refused = enough(2).unwrap_err().to_string();
        assert!(
            refused.contains("2 MiB of free huge pages") && refused.contains("vm.nr_hugepages"),
            "{refused}"
        );
        assert_eq!(enough(NEEDED_MIB), Ok(()));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "HugePages_Total: 200\nHugePages_Free:  150\nHugepagesize:  2048 kB\n")
            .unwrap();
        assert_eq!((free_mib(file.path()), free_mib(Path::new("/nowhere"))), (300, 0));
    }
}
