//! Who holds a file: a server locks the files that it has open, and the kernel lists all locks.

use crate::text;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The process that has locked this file; `None` where none has, or this process may not see it.
pub fn holder(path: &Path) -> Option<u32> {
    let file = std::fs::metadata(path).ok()?;
    let (major, minor) = (libc::major(file.dev()), libc::minor(file.dev()));
    of_locks(&text::read("/proc/locks")?, &format!("{major:02x}:{minor:02x}:{}", file.ino()))
}

/// `6: POSIX  ADVISORY  WRITE 31945 fe:00:10349350 0 EOF`
fn of_locks(locks: &str, file: &str) -> Option<u32> {
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it =
            words.get(1) == Some(&"POSIX") && words.get(3) == Some(&"WRITE") && words.get(5) == Some(&file);
        is_it.then(|| words.get(4).and_then(|pid| pid.parse().ok())).flatten()
    };
    locks.lines().find_map(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_locked_a_file_is_found_by_its_device_and_number() {
        let locks = "1: FLOCK  ADVISORY  WRITE 3424 fe:00:12 0 EOF\n2: -> POSIX  ADVISORY  WRITE 7 fe:00:12 0 EOF\n\
                     6: POSIX  ADVISORY  WRITE 31945 fe:00:12 0 EOF\nx";
        assert_eq!(of_locks(locks, "fe:00:12"), Some(31_945));
        assert_eq!(of_locks(locks, "fe:00:1"), None);
        assert_eq!(holder(Path::new("/nonexistent")), None);
    }
}
