//! The reject file of a load: each reject once, whatever ended the loads before.
//!
//! The rejects of a part are on disk before the part is committed. What stands there of parts that were not committed after all is
//! taken out when the next load begins, and comes again when their bytes do. That is done only with a file whose rejects are known to
//! be of the same tables ([`super::owned`]).

use super::LoadError;
use super::files::Planned;
use super::owned::{Owned, beside};
use crate::HaulError;
use crate::convert::tidy;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(super) struct Rejects {
    file: File,
    path: PathBuf,
    /// Keeps others out; `None` of what is no file, as a pipe.
    _owned: Option<Owned>,
}

impl Rejects {
    /// Opens it for loads of this owner, without the rejects of these files whose bytes are not in.
    pub fn open(path: &Path, owner: &str, files: &[Planned]) -> Result<Self, HaulError> {
        let failed = || HaulError::io("write", path);
        let mut ends = BTreeMap::new();
        for file in files {
            for name in [file.input.path().to_string_lossy().into_owned(), file.name.clone()] {
                ends.insert(tidy(&name).into_bytes(), file.begin);
            }
        }
        // What is no file, as a pipe, has nothing that could be taken out.
        let owned = match path.exists() && !path.is_file() {
            true => None,
            false => Some(Owned::take(path, owner)?),
        };
        if let Some(owned) = owned.as_ref().filter(|_| path.is_file()) {
            let lines = File::open(path).and_then(|file| leave(file, &ends));
            match (lines.map_err(HaulError::io("read", path))?, owned.is_known) {
                (false, _) => {}
                (true, true) => keep(path, &ends).map_err(failed())?,
                (true, false) => {
                    return Err(LoadError::OthersRejects { path: path.to_owned(), owner: None }.into());
                }
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed())?;
        Ok(Self { file, path: path.to_owned(), _owned: owned })
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

fn leave(known: File, ends: &BTreeMap<Vec<u8>, u64>) -> io::Result<bool> {
    let mut found = false;
    each_line(known, &mut |line| {
        found |= !stays(line, ends);
        Ok(())
    })?;
    Ok(found)
}

/// Writes those lines anew that stay. Whoever does that has the file for itself, so that what a kill has left has no other writer.
fn keep(path: &Path, ends: &BTreeMap<Vec<u8>, u64>) -> io::Result<()> {
    let hidden = beside(path, "kept");
    let mut out = BufWriter::new(File::create(&hidden)?);
    each_line(File::open(path)?, &mut |line| match stays(line, ends) {
        true => out.write_all(line),
        false => Ok(()),
    })?;
    out.into_inner()?.sync_all()?;
    fs::rename(&hidden, path)?;
    // Rejects that are added are on disk only where the name is.
    let home = path.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(home)?.sync_all()
}

fn each_line(known: File, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut lines, mut line) = (BufReader::new(known), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        take(&line)?;
        line.clear();
    }
    Ok(())
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
