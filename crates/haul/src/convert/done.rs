//! What is noted of a conversion beside its output: how far it came, and that it is done.

use super::Tally;
use crate::HaulError;
use crate::input::Identity;
use serde::de::DeserializeOwned;
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
    /// When each of them was last changed, nanoseconds since 1970; none where an earlier version wrote them. One that was changed since
    /// is no output any more, even of as many bytes.
    #[serde(default)]
    pub changed_ns: Vec<i128>,
}

/// An input that is being converted: `.NAME.progress`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// Of which start of this machine it is. What was written and not synced is there after a kill, and may be gone after
    /// the machine itself stopped.
    pub boot: String,
    pub identity: Option<Identity>,
    pub rules: u64,
    /// Bytes of the input that are done, unpacked.
    pub offset: u64,
    pub tally: Tally,
    /// Bytes of each output.
    pub lengths: Vec<u64>,
}

/// What a file says; `None` where it is not there, or is none of ours.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a file so that it is there as a whole or not at all. Until then it has a hidden name that no output and no file of a user has.
pub(super) fn write<T: Serialize>(path: &Path, value: &T, durable: bool) -> Result<(), HaulError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    let written = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    };
    let written = written();
    if written.is_err() {
        // Half a file of a full disk is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(HaulError::io("write", path))
}

/// Names this start of the machine; empty where the kernel does not say, which is no start at all.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
