//! What a study has written to a server that others use, kept in its folder from load to load.

use crate::store::format::{FORMAT, WrittenFile};
use crate::store::{StoreError, StudyFolder};
use evenkeel_lab::load::Written;

const FILE: &str = "written.json";

/// Counts the loads of a study: probes, runs, and attempts that were set aside or stopped.
pub(super) struct Ledger<'a>(pub &'a StudyFolder);

impl Ledger<'_> {
    /// A load begins. Until its end is noted nobody knows what it writes.
    pub fn begins(&self) -> Result<(), StoreError> {
        self.change(|file| file.unknown_loads += 1)
    }

    pub fn ends(&self, written: &Written) -> Result<(), StoreError> {
        self.change(|file| {
            file.unknown_loads = file.unknown_loads.saturating_sub(1);
            file.rows.add(written);
        })
    }

    fn change(&self, change: impl FnOnce(&mut WrittenFile)) -> Result<(), StoreError> {
        let mut file = written(self.0)?.unwrap_or_default();
        file.format = FORMAT;
        change(&mut file);
        self.0.write(FILE, &file)
    }
}

/// What was written so far; `None` where nothing was to be counted.
///
/// # Errors
/// The file cannot be read.
pub fn written(folder: &StudyFolder) -> Result<Option<WrittenFile>, StoreError> {
    folder.path().join(FILE).exists().then(|| folder.read(FILE)).transpose()
}
