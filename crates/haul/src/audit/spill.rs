//! Entries in files, parted by a number.

use super::entry::BYTES;
use crate::HaulError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes that a part keeps before they go to its file.
const KEPT: usize = 16 << 10;

/// Entries in one file for each part; a part without entries has none. The files go with it.
pub(super) struct Spill {
    home: PathBuf,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    file: Option<File>,
    kept: Vec<u8>,
}

impl Spill {
    /// None yet; the files go into a folder that exists.
    pub fn new(home: &Path, parts: usize) -> Self {
        let parts = std::iter::repeat_with(Part::default).take(parts).collect();
        Self { home: home.to_owned(), parts }
    }

    pub fn push(&mut self, part: usize, entry: &[u8; BYTES]) -> Result<(), HaulError> {
        let kept = &mut self.parts[part].kept;
        kept.extend_from_slice(entry);
        if kept.len() >= KEPT { self.flush(part) } else { Ok(()) }
    }

    /// All entries of a part, in the order in which they came; its file is empty afterwards.
    pub fn take(&mut self, part: usize) -> Result<Vec<[u8; BYTES]>, HaulError> {
        let path = self.path(part);
        let Part { file, kept } = std::mem::take(&mut self.parts[part]);
        let mut bytes = Vec::new();
        if let Some(mut file) = file {
            file.seek(SeekFrom::Start(0)).map_err(HaulError::io("read", &path))?;
            file.read_to_end(&mut bytes).map_err(HaulError::io("read", &path))?;
        }
        bytes.extend(kept);
        Ok(bytes.as_chunks().0.to_vec())
    }

    fn flush(&mut self, part: usize) -> Result<(), HaulError> {
        let path = self.path(part);
        let Part { file, kept } = &mut self.parts[part];
        let file = match file {
            Some(file) => file,
            // Without a name, so that a kill leaves nothing behind.
            none => none.insert(tempfile::tempfile_in(&self.home).map_err(HaulError::io("write", &path))?),
        };
        file.write_all(kept).map_err(HaulError::io("write", &path))?;
        kept.clear();
        Ok(())
    }

    /// For errors alone.
    fn path(&self, part: usize) -> PathBuf {
        self.home.join(format!("audit-{part}"))
    }
}
