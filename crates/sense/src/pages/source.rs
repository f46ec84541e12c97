//! The file that pages are read from, and who holds it: a server locks the files that it has open, and the kernel lists all locks.

use super::format::{Format, PAGE_BYTES_MAX, Unreadable};
use super::whole::{Page, Sight, look};
use crate::text;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{io, thread};

/// How often a page is read that is wrong, before it is called so: a server may be just writing it.
const READINGS: u32 = 5;
/// Time between two such readings.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Source<'a> {
    file: File,
    path: &'a Path,
}

impl<'a> Source<'a> {
    pub fn open(path: &'a Path) -> Result<Self, PagesError> {
        // A pipe would be waited for, and a folder has no pages.
        let opened = std::fs::metadata(path).and_then(|there| match there.is_file() {
            true => File::open(path),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
        });
        let failed = |source| PagesError::File { doing: "open", path: path.into(), offset: 0, source };
        Ok(Self { file: opened.map_err(failed)?, path })
    }

    fn failed(&self, offset: u64) -> impl FnOnce(io::Error) -> PagesError {
        let path = self.path.to_owned();
        move |source| PagesError::File { doing: "read", path, offset, source }
    }

    pub fn state(&self) -> Result<(u64, SystemTime), PagesError> {
        let state = self.file.metadata().map_err(self.failed(0))?;
        Ok((state.len(), state.modified().map_err(self.failed(0))?))
    }

    /// Fills `bytes` from this place on.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), PagesError> {
        match self.file.read_exact_at(bytes, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(PagesError::Changed { path: self.path.into() })
            }
            outcome => outcome.map_err(self.failed(offset)),
        }
    }

    /// How its pages are written, by the first one.
    pub fn format(&self) -> Result<Format, PagesError> {
        let length = self.state()?.0.min(PAGE_BYTES_MAX as u64) as usize;
        let mut first = vec![0; length];
        self.read_at(&mut first, 0)?;
        let path = self.path.to_owned();
        Format::of_first_page(&first).map_err(|unreadable| match unreadable {
            Unreadable::NotATablespace(why) => PagesError::NotATablespace { path, why },
            Unreadable::Compressed(how) => PagesError::Compressed { path, how },
            Unreadable::Encrypted => PagesError::Encrypted { path, page: 0 },
            Unreadable::PageSize(flags) => PagesError::PageSize { path, flags },
        })
    }

    /// Reads a page that is in `bytes` again until it can be believed, or refuses it.
    pub fn settle(&self, number: u64, bytes: &mut [u8], format: Format) -> Result<(), PagesError> {
        let path = || self.path.to_owned();
        for reading in 1..=READINGS {
            let what = match look(number, Page { bytes }, format) {
                Sight::Whole => return Ok(()),
                Sight::Compressed => {
                    return Err(PagesError::Compressed { path: path(), how: "page compression" });
                }
                Sight::Encrypted => return Err(PagesError::Encrypted { path: path(), page: number }),
                Sight::Wrong(what) => what,
            };
            if reading == READINGS {
                return Err(PagesError::Damaged { path: path(), page: number, what, readings: READINGS });
            }
            thread::sleep(PAUSE);
            self.read_at(bytes, number * format.page_bytes as u64)?;
        }
        Ok(())
    }

    /// Refuses a page whose header makes no sense, though its checksum is right.
    pub fn senseless(&self, page: u64) -> PagesError {
        let what = "the header of an index page is invalid";
        PagesError::Damaged { path: self.path.into(), page, what, readings: 1 }
    }
}

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

// Why a tablespace is not read. Nothing is guessed: a file that is not fully understood has no figures.

fn at(offset: u64) -> String {
    if offset == 0 { String::new() } else { format!(" at byte {offset}") }
}

#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    #[error("cannot {doing} {path}{at}", path = path.display(), at = at(*offset))]
    File { doing: &'static str, path: PathBuf, offset: u64, source: io::Error },
    #[error("{path} is not an InnoDB tablespace: {why}", path = path.display())]
    NotATablespace { path: PathBuf, why: String },
    #[error("{path} has compressed pages ({how}), which are not read", path = path.display())]
    Compressed { path: PathBuf, how: &'static str },
    #[error("{path} has encrypted pages, which are not read (page {page})", path = path.display())]
    Encrypted { path: PathBuf, page: u64 },
    #[error("{path} has pages of an unknown size (flags {flags:#x} at byte 54)", path = path.display())]
    PageSize { path: PathBuf, flags: u32 },
    #[error("{path} has {pages} whole pages of the {expected} that its first page names", path = path.display())]
    Truncated { path: PathBuf, pages: u64, expected: u64 },
    #[error("page {page} of {path} is damaged, or changes while it is read ({what}, in each of {readings} readings)", path = path.display())]
    Damaged { path: PathBuf, page: u64, what: &'static str, readings: u32 },
    #[error("{path} changed while it was read", path = path.display())]
    Changed { path: PathBuf },
    #[error("{path} has more than {most} levels of indexes", path = path.display())]
    TooManyLevels { path: PathBuf, most: usize },
    #[error("{path} has {pages} pages, and there is not enough memory to list them", path = path.display())]
    Memory { path: PathBuf, pages: u64 },
    #[error("stopped while {path} was read", path = path.display())]
    Stopped { path: PathBuf },
}

impl PagesError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotATablespace { .. } => {
                "name an .ibd file, the ibdata1 of a stopped server, or a data directory"
            }
            Self::Compressed { .. } => {
                "ALTER TABLE ... ROW_FORMAT=DYNAMIC PAGE_COMPRESSED=0 makes it readable, on a copy of the server"
            }
            Self::Encrypted { .. } => {
                "ALTER TABLE ... ENCRYPTED=NO makes it readable, on a copy of the server"
            }
            Self::Truncated { .. } => {
                "copy the file again; a shared tablespace of several files (ibdata1, ibdata2) is not read"
            }
            Self::Damaged { .. } | Self::Changed { .. } => {
                "stop the server first; if none writes to it, innochecksum and CHECK TABLE show more"
            }
            Self::Memory { .. } => "it takes 11 bytes for each page",
            _ => return None,
        })
    }

    /// Whether somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stopped { .. })
    }
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
