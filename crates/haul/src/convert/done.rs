//! What is noted of a conversion beside its output.

use super::Tally;
use crate::HaulError;
use crate::input::Identity;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An input that is converted: `NAME.done`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub input: PathBuf,
    /// What it was; `None` of a pipe.
    pub identity: Option<Identity>,
    /// XXH3 of the layout file and of what else decides what becomes of a record: of the inputs before it, where records that come
    /// twice are refused.
    pub rules: u64,
    /// Bytes of it, unpacked.
    pub bytes: u64,
    /// What became of its records.
    pub tally: Tally,
    /// Files that were written, with their bytes.
    pub outputs: Vec<(PathBuf, u64)>,
    /// When each of them was last changed, nanoseconds since 1970. One that was changed since is no output any more, even of as many
    /// bytes.
    pub changed_ns: Vec<i128>,
}

/// What a file says; `None` where it is not there, or is none of ours.
pub(super) fn read(path: &Path) -> Option<Done> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub(super) fn write(path: &Path, done: &Done) -> Result<(), HaulError> {
    let written = || -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(&serde_json::to_vec_pretty(done)?)?;
        file.sync_all()
    };
    let written = written();
    if written.is_err() {
        // Half a file of a full disk is of no use to anybody.
        let _ = fs::remove_file(path);
    }
    written.map_err(HaulError::io("write", path))
}
