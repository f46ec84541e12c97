//! The kernel's log, from an instant on: lines that speak of trouble.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// I/O errors, memory that ran out, tasks that hung, file systems that are damaged: how the kernel writes them.
const TROUBLE: [&str; 6] = [
    "I/O error",
    "blocked for more than",
    "-fs error",
    "BTRFS error",
    "orruption",
    "Shutting down filesystem",
];
const MEMORY: [&str; 3] = ["Out of memory", "out of memory", "oom-kill:"];
/// The longest record that the kernel gives.
const RECORD_BYTES: usize = 8192;

#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// Begins to listen.
    /// Errors: the kernel's, where the log is not shown to us.
    pub fn begin() -> io::Result<Self> {
        let mut log = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
        log.seek(SeekFrom::End(0))?;
        Ok(Self(log))
    }

    /// Lines of trouble since it began or was asked last.
    pub fn trouble(&mut self) -> io::Result<Vec<String>> {
        let (mut found, mut record) = (Vec::new(), [0; RECORD_BYTES]);
        loop {
            match self.0.read(&mut record) {
                Ok(0) => return Ok(found),
                Ok(bytes) => found.extend(trouble(&String::from_utf8_lossy(&record[..bytes]))),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(found),
                // Records were overwritten before they were read; the next one follows.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The text of a record, `6,9318,15624610244,-;text`, where it speaks of trouble.
fn trouble(record: &str) -> Option<String> {
    let text = record.split_once(';')?.1.lines().next()?;
    let is_trouble = is_of_memory(text) || TROUBLE.iter().any(|words| text.contains(words));
    is_trouble.then(|| text.to_owned())
}

/// Whether a line says that memory ran out for a process.
pub fn is_of_memory(line: &str) -> bool {
    MEMORY.iter().any(|words| line.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_disks_memory_and_file_systems_are_trouble_and_mounts_are_none() {
        for text in [
            "Buffer I/O error on dev loop0, logical block 0, lost async page write",
            "Memory cgroup out of memory: Killed process 4711 (mariadbd) total-vm:1kB",
            "INFO: task mariadbd:4711 blocked for more than 120 seconds.",
            "EXT4-fs error (device loop0): ext4_find_entry: reading directory lblock 0",
            "XFS (loop1): Corruption detected. Unmount and run xfs_repair",
        ] {
            assert_eq!(trouble(&format!("3,1,2,-;{text}\n SUBSYSTEM=block\n")).as_deref(), Some(text));
        }
        assert_eq!(trouble("6,9319,15624616880,-;EXT4-fs (loop0): mounted filesystem r/w"), None);
        assert_eq!(trouble("no record"), None);
    }
}
