//! The reject file of a load: each reject once, whatever ended the loads before.
//!
//! The rejects of a part are on disk before the part is committed. What stands there of parts that were not committed after all is
//! taken out when the next load begins, and comes again when their bytes do.

use super::files::Planned;
use crate::HaulError;
use crate::convert::tidy;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file, open at its end.
pub(super) struct Rejects {
    file: File,
    path: PathBuf,
}

impl Rejects {
    /// Opens it, without the rejects of these files whose bytes are not in.
    pub fn open(path: &Path, files: &[Planned]) -> Result<Self, HaulError> {
        let failed = || HaulError::io("write", path);
        let mut ends = BTreeMap::new();
        for file in files {
            for name in [file.input.path().to_string_lossy().into_owned(), file.name.clone()] {
                ends.insert(tidy(&name).into_bytes(), file.begin);
            }
        }
        // What is no file, as a pipe, has nothing that could be taken out.
        if path.is_file() {
            let known = File::open(path).map_err(HaulError::io("read", path))?;
            keep(known, path, &ends).map_err(failed())?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed())?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Adds the rejects of a part, and has them on disk.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), HaulError> {
        if lines.is_empty() {
            return Ok(());
        }
        let added = self.file.write_all(lines).and_then(|()| self.file.sync_data());
        added.map_err(HaulError::io("write", &self.path))
    }
}

/// Writes those lines anew that stay, if there are others.
fn keep(known: File, path: &Path, ends: &BTreeMap<Vec<u8>, u64>) -> std::io::Result<()> {
    let beside = path.with_extension("part");
    let mut out = BufWriter::new(File::create(&beside)?);
    let (mut lines, mut line) = (BufReader::new(known), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if stays(&line, ends) {
            out.write_all(&line)?;
        }
        line.clear();
    }
    out.into_inner()?.sync_all()?;
    fs::rename(&beside, path)
}

/// Whether a line is whole, and tells of bytes that are in, or of another file.
fn stays(line: &[u8], ends: &BTreeMap<Vec<u8>, u64>) -> bool {
    let mut fields = line.split(|byte| *byte == b'\t');
    let (name, offset) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let offset = std::str::from_utf8(offset).ok().and_then(|text| text.parse::<u64>().ok());
    match (ends.get(name), offset) {
        _ if !line.ends_with(b"\n") => false,
        (Some(end), Some(offset)) => offset < *end,
        (Some(_), None) => false,
        (None, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_bytes_that_are_in_stay() {
        let ends = BTreeMap::from([(b"a".to_vec(), 100)]);
        assert!(stays(b"a\t99\twhy\trecord\n", &ends) && stays(b"b\t200\twhy\trecord\n", &ends));
        assert!(!stays(b"a\t100\twhy\trecord\n", &ends) && !stays(b"a\t99\twhy\trec", &ends));
    }
}
