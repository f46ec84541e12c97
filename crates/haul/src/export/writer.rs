//! The files of one range, under hidden names.

use super::line::Checksum;
use super::manifest::{Exported, digits};
use crate::HaulError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Writes lines, a new file after so many rows.
pub(super) struct Writer<'a> {
    into: &'a Path,
    /// What the names begin with, as `calls.0001`.
    stem: String,
    rows_per_file: u64,
    open: Option<Open>,
    done: Vec<Exported>,
}

struct Open {
    out: BufWriter<File>,
    name: String,
    checksum: Checksum,
    bytes: u64,
}

/// The hidden name of a file.
pub(super) fn hidden(into: &Path, name: &str) -> PathBuf {
    into.join(format!(".{name}.part"))
}

impl<'a> Writer<'a> {
    pub fn new(into: &'a Path, stem: String, rows_per_file: u64) -> Self {
        Self { into, stem, rows_per_file: rows_per_file.max(1), open: None, done: Vec::new() }
    }

    /// Writes a line with its line feed.
    pub fn write(&mut self, line: &[u8]) -> Result<(), HaulError> {
        if self.open.as_ref().is_some_and(|open| open.checksum.rows >= self.rows_per_file) {
            self.close()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Open::create(self.into, &self.stem, self.done.len())?),
        };
        open.checksum.add(line.strip_suffix(b"\n").unwrap_or(line));
        open.bytes += line.len() as u64;
        open.out.write_all(line).map_err(HaulError::io("write", &hidden(self.into, &open.name)))
    }

    /// All of it is on disk; a range without rows has no file.
    pub fn finish(mut self) -> Result<Vec<Exported>, HaulError> {
        self.close()?;
        Ok(self.done)
    }

    fn close(&mut self) -> Result<(), HaulError> {
        let Some(Open { out, name, checksum, bytes }) = self.open.take() else { return Ok(()) };
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(HaulError::io("write", &hidden(self.into, &name)))?;
        let (rows, checksum) = (checksum.rows, digits(checksum));
        self.done.push(Exported { name, rows, bytes, checksum, keys: None });
        Ok(())
    }
}

impl Open {
    fn create(into: &Path, stem: &str, before: usize) -> Result<Self, HaulError> {
        let name = match before {
            0 => format!("{stem}.csv"),
            before => format!("{stem}-{}.csv", before + 1),
        };
        let path = hidden(into, &name);
        let file = File::create(&path).map_err(HaulError::io("write", &path))?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { out, name, checksum: Checksum::default(), bytes: 0 })
    }
}
