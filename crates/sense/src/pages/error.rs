//! Why a tablespace is not read. Nothing is guessed: a file that is not fully understood has no figures.

use std::io;
use std::path::PathBuf;

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
