//! What is read: files, folders and patterns, packed or not.

mod list;
mod open;

pub use list::list;
pub(crate) use open::{Counted, changed_ns, is_packed};
pub use open::{Identity, Opened, open};

use crate::HaulError;
use std::path::Path;

/// The name that the outputs of a file begin with: its own, without what says how it is packed.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed = [".gz", ".zst"].into_iter().find_map(|ending| name.strip_suffix(ending));
    packed.unwrap_or(&name).to_owned()
}

/// What grew or was replaced while it was read was not read as one file.
pub(crate) fn changed(path: &Path, at: u64) -> HaulError {
    let what = "its size, modification time or inode is different now; run again when nothing writes to it";
    HaulError::Changed { path: path.to_owned(), at, what }
}
