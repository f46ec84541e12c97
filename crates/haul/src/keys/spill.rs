//! Entries of one size in files, parted by a number.

use crate::HaulError;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that a part keeps before they go to its file.
const KEPT: usize = 16 << 10;

/// Entries of `N` bytes each, in one file for each part; a part without entries has none. The files go with it.
pub(crate) struct Spill<const N: usize> {
    home: PathBuf,
    name: &'static str,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    file: Option<File>,
    kept: Vec<u8>,
}

impl<const N: usize> Spill<N> {
    pub fn new(home: &Path, name: &'static str, parts: usize) -> Result<Self, HaulError> {
        let parts = std::iter::repeat_with(Part::default).take(parts).collect();
        Ok(Self { home: home.to_owned(), name, parts })
    }

    pub fn push(&mut self, part: usize, entry: &[u8; N]) -> Result<(), HaulError> {
        let kept = &mut self.parts[part].kept;
        kept.extend_from_slice(entry);
        if kept.len() >= KEPT { self.flush(part) } else { Ok(()) }
    }

    /// All entries of a part, in the order in which they came; its file is empty afterwards.
    pub fn take(&mut self, part: usize) -> Result<Vec<[u8; N]>, HaulError> {
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

    /// The same for who comes again: nothing is taken away.
    pub fn read(&self, part: usize) -> Result<Vec<[u8; N]>, HaulError> {
        let mut bytes = Vec::new();
        if let Some(file) = &self.parts[part].file {
            // By place, since others read the same file at the same time.
            let read = file.metadata().and_then(|found| {
                bytes.resize(usize::try_from(found.len()).map_err(io::Error::other)?, 0);
                file.read_exact_at(&mut bytes, 0)
            });
            read.map_err(HaulError::io("read", &self.path(part)))?;
        }
        bytes.extend(&self.parts[part].kept);
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
        self.home.join(format!("{}-{part}", self.name))
    }
}
