//! Why a tablespace is not read. Nothing is guessed: a file that is not fully understood has no figures.

use std::io;
use std::path::PathBuf;

/// Where in a file something failed, in words; at its begin it goes without saying.
fn at(offset: u64) -> String {
    if offset == 0 { String::new() } else { format!(" at byte {offset}") }
}

/// Why there are no figures of a file.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    #[error("cannot {doing} {path}{at}", path = path.display(), at = at(*offset))]
    File {
        /// What was being done.
        doing: &'static str,
        /// File that was to be read.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    #[error("{path} is not an InnoDB tablespace: {why}", path = path.display())]
    NotATablespace {
        /// File that was to be read.
        path: PathBuf,
        /// What its first page has instead.
        why: String,
    },
    #[error("{path} has compressed pages ({how}), which are not read", path = path.display())]
    Compressed {
        /// File that was to be read.
        path: PathBuf,
        /// Which of the two kinds of compression.
        how: &'static str,
    },
    #[error("{path} has encrypted pages, which are not read (page {page})", path = path.display())]
    Encrypted {
        /// File that was to be read.
        path: PathBuf,
        /// The first such page.
        page: u64,
    },
    #[error("{path} has pages of an unknown size (flags {flags:#x} at byte 54)", path = path.display())]
    PageSize {
        /// File that was to be read.
        path: PathBuf,
        /// Flags of the tablespace.
        flags: u32,
    },
    #[error("{path} has {pages} whole pages of the {expected} that its first page names", path = path.display())]
    Truncated {
        /// File that was to be read.
        path: PathBuf,
        /// Whole pages in it.
        pages: u64,
        /// Pages by the header.
        expected: u64,
    },
    #[error("page {page} of {path} is damaged, or changes while it is read ({what}, in each of {readings} readings)", path = path.display())]
    Damaged {
        /// File that was to be read.
        path: PathBuf,
        /// Its number, from zero.
        page: u64,
        /// What is wrong with it.
        what: &'static str,
        /// How often it was read.
        readings: u32,
    },
    #[error("{path} changed while it was read", path = path.display())]
    Changed {
        /// File that was to be read.
        path: PathBuf,
    },
    #[error("{path} has more than {most} levels of indexes", path = path.display())]
    TooManyLevels {
        /// File that was to be read.
        path: PathBuf,
        /// As many are told apart.
        most: usize,
    },
    #[error("{path} has {pages} pages, and there is not enough memory to list them", path = path.display())]
    Memory {
        /// File that was to be read.
        path: PathBuf,
        /// Pages in it.
        pages: u64,
    },
    #[error("stopped while {path} was read", path = path.display())]
    Stopped {
        /// File that was to be read.
        path: PathBuf,
    },
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
                "stop the server first, or hold the table by FLUSH TABLES ... FOR EXPORT; if no server \
                 writes to it, innochecksum and CHECK TABLE show more"
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
