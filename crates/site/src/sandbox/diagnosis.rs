//! A server's log says why it does not run, and is read for that.

use super::error::{Failure, LogTail};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const LINES: usize = 15;

/// What is read of a log at most; the end is what matters.
const BYTES: u64 = 64 << 10;

/// A log from where the present start of the server began to write.
#[derive(Clone, Debug)]
pub(super) struct Log {
    path: PathBuf,
    start: u64,
}

impl Log {
    pub(super) fn from_end(path: &Path) -> Self {
        Self { path: path.into(), start: size(path) }
    }

    pub(super) fn whole(path: &Path) -> Self {
        Self { path: path.into(), start: 0 }
    }

    pub(super) fn size(&self) -> u64 {
        size(&self.path)
    }

    pub(super) fn text(&self) -> String {
        let mut bytes = Vec::new();
        if let Ok(mut file) = File::open(&self.path) {
            let start = self.start.max(size(&self.path).saturating_sub(BYTES));
            let _ = file.seek(SeekFrom::Start(start)).and_then(|_| file.take(BYTES).read_to_end(&mut bytes));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The lines with errors, where an installation script surrounds them with advice; else the end.
    pub(super) fn errors(&self) -> LogTail {
        let text = self.text();
        let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
        match errors.is_empty() {
            true => self.tail(),
            false => LogTail { path: self.path.clone(), lines: last_lines(&errors.join("\n"), LINES) },
        }
    }

    pub(super) fn tail(&self) -> LogTail {
        LogTail { path: self.path.clone(), lines: last_lines(&self.text(), LINES) }
    }
}

/// Puts a log that has grown large aside, so that it does not fill the disk over hundreds of restarts.
pub(super) fn rotate(path: &Path) {
    const LARGE: u64 = 16 << 20;
    if size(path) > LARGE {
        let _ = std::fs::rename(path, path.with_extension("log.old"));
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

pub(super) fn last_lines(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| (*line).into()).collect()
}

/// Makes a failure of a line of the log and the server's port.
type Reading = fn(&str, u16) -> Failure;

/// Words of the server, and what they mean. Earlier entries are nearer to the cause.
const SIGNS: [(&str, Reading); 19] = [
    ("unknown variable", setting),
    ("unknown option", setting),
    ("ambiguous option", setting),
    ("Unknown suffix", setting),
    ("Error while setting value", setting),
    ("requires an argument", setting),
    ("Unknown character set", setting),
    ("Can't lock aria control file", |_, _| Failure::DataInUse(None)),
    ("Unable to lock ./ibdata1", |_, _| Failure::DataInUse(None)),
    ("Bind on TCP/IP port", |_, port| Failure::Port(port)),
    ("No space left on device", |_, _| Failure::DiskFull),
    ("Disk is full", |_, _| Failure::DiskFull),
    ("Disk full", |_, _| Failure::DiskFull),
    ("Errcode: 28", |_, _| Failure::DiskFull),
    ("errno: 28", |_, _| Failure::DiskFull),
    ("with error 28", |_, _| Failure::DiskFull),
    ("Cannot map innodb_buffer_pool_size", |_, _| Failure::Memory),
    ("Cannot allocate memory", |_, _| Failure::Memory),
    ("Out of memory", |_, _| Failure::Memory),
];

fn setting(line: &str, _: u16) -> Failure {
    let words = line.rsplit_once("[ERROR] ").map_or(line, |(_, words)| words);
    Failure::Setting(words.trim().into())
}

/// What the log says is wrong, if it does.
pub(super) fn diagnose(log: &str, port: u16) -> Option<Failure> {
    SIGNS.iter().find_map(|(sign, failure)| {
        let line = log.lines().find(|line| line.contains(sign))?;
        Some(failure(line, port))
    })
}

/// What the log of a server that still runs says is hopeless: it would try again for a minute or more.
pub(super) fn hopeless(log: &str, port: u16) -> Option<Failure> {
    diagnose(log, port).filter(|failure| matches!(failure, Failure::DataInUse(_) | Failure::DiskFull))
}

/// Settings that the server took otherwise than they were written.
pub(super) fn adjustments(log: &str) -> impl Iterator<Item = String> + '_ {
    log.lines()
        .filter(|line| line.contains("adjusted to"))
        .map(|line| line.rsplit_once("[Warning] ").map_or(line, |(_, words)| words).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_among_its_consequences() {
        for (line, failure) in [
            (
                "2025 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'x=1'",
                "refuses a setting: /usr/sbin/mariadbd: unknown variable 'x=1'",
            ),
            (
                "2025 0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use",
                "found its port 4000 taken",
            ),
            (
                "[ERROR] InnoDB: Unable to lock ./ibdata1 error: 11",
                "found its data directory in use by another server",
            ),
            ("[ERROR] InnoDB: preallocating 1 bytes failed: No space left on device", "found the disk full"),
            (
                "[ERROR] InnoDB: preallocating 1 bytes for file ./ib_logfile101 failed with error 28",
                "found the disk full",
            ),
            ("[ERROR] mariadbd: Out of memory (Needed 1 bytes)", "could not allocate its memory"),
        ] {
            let log = format!("[Note] Starting\n{line}\n[ERROR] Aborting\n");
            assert_eq!(diagnose(&log, 4000).unwrap().to_string(), failure);
        }
        assert_eq!(diagnose("[ERROR] Aborting", 1), None);
    }

    #[test]
    fn only_what_was_written_since_the_start_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "old\n").unwrap();
        let log = Log::from_end(&path);
        assert!(log.tail().to_string().contains("says nothing"));
        std::fs::write(&path, format!("old\n{}", "new\n\n".repeat(40))).unwrap();
        assert_eq!(log.tail().lines, vec!["new"; LINES]);
    }
}
