//! The files of one table.

use super::line::Checksum;
use super::manifest::ExportedFile;
use crate::HaulError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

const BUFFER: usize = 1 << 18;

/// Rows of a file at most: loaded again it is one transaction.
const ROWS: u64 = if cfg!(test) { 2 } else { 1_000_000 };

/// Writes lines, and begins a new file after [`ROWS`].
pub(super) struct Writer<'a> {
    folder: &'a Path,
    table: &'a str,
    open: Option<Open>,
    done: Vec<(ExportedFile, Checksum)>,
}

struct Open {
    out: BufWriter<File>,
    name: String,
    checksum: Checksum,
    bytes: u64,
}

impl<'a> Writer<'a> {
    pub fn new(folder: &'a Path, table: &'a str) -> Self {
        Self { folder, table, open: None, done: Vec::new() }
    }

    pub fn write(&mut self, line: &[u8]) -> Result<(), HaulError> {
        if self.open.as_ref().is_some_and(|open| open.checksum.rows >= ROWS) {
            self.close()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let name = format!("{}.{:04}.csv", self.table, self.done.len() + 1);
                none.insert(Open::create(self.folder, name)?)
            }
        };
        open.checksum.add(line.strip_suffix(b"\n").unwrap_or(line));
        open.bytes += line.len() as u64;
        open.out.write_all(line).map_err(HaulError::io("write", &self.folder.join(&open.name)))
    }

    /// All of it is on disk; a table without rows has no file.
    pub fn finish(mut self) -> Result<Vec<(ExportedFile, Checksum)>, HaulError> {
        self.close()?;
        Ok(self.done)
    }

    fn close(&mut self) -> Result<(), HaulError> {
        let Some(Open { out, name, checksum, bytes }) = self.open.take() else { return Ok(()) };
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(HaulError::io("write", &self.folder.join(&name)))?;
        let (rows, digits) = (checksum.rows, checksum.digits());
        self.done.push((ExportedFile { name, rows, bytes, checksum: digits }, checksum));
        Ok(())
    }
}

impl Open {
    fn create(folder: &Path, name: String) -> Result<Self, HaulError> {
        let path = folder.join(&name);
        let file = File::create(&path).map_err(HaulError::io("write", &path))?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { out, name, checksum: Checksum::default(), bytes: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_more_rows_has_several_files_and_one_without_rows_has_none() {
        let home = tempfile::tempdir().unwrap();
        let mut writer = Writer::new(home.path(), "t");
        for row in ["1\n", "2\n", "3\n"] {
            writer.write(row.as_bytes()).unwrap();
        }
        let files = writer.finish().unwrap();
        let said: Vec<_> =
            files.iter().map(|(file, _)| (file.name.as_str(), file.rows, file.bytes)).collect();
        assert_eq!(said, [("t.0001.csv", 2, 4), ("t.0002.csv", 1, 2)]);
        assert_eq!(std::fs::read(home.path().join("t.0001.csv")).unwrap(), b"1\n2\n");
        assert!(Writer::new(home.path(), "none").finish().unwrap().is_empty());
    }
}
