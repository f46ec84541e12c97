//! What is read: files, folders, patterns and pipes, packed or not.

mod list;
mod open;

pub use list::list;
pub use open::{Identity, Opened, open};
pub(crate) use open::{changed_ns, is_packed};

use crate::HaulError;
use std::path::{Path, PathBuf};

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// A file; or a pipe that has a name.
    File(PathBuf),
    /// What comes in by the standard input.
    Pipe,
}

impl Input {
    /// Its name, for errors and rejects.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Pipe => Path::new("standard input"),
        }
    }

    /// The name that its outputs begin with: that of the file, without what says how it is packed.
    pub fn stem(&self) -> String {
        let Self::File(path) = self else { return "standard-input".to_owned() };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let packed = [".gz", ".zst"].into_iter().find_map(|ending| name.strip_suffix(ending));
        packed.unwrap_or(&name).to_owned()
    }

    /// What grew or was replaced while it was read was not read as one file.
    pub(crate) fn changed(&self, at: u64) -> HaulError {
        let what =
            "its size, modification time or inode is different now; run again when nothing writes to it";
        HaulError::Changed { path: self.path().to_owned(), at, what }
    }
}
