//! Whether files are what was exported, and whether a table is what its files say.

use super::line::{self, Checksum};
use super::manifest::{Exported, ExportedFile};
use super::snapshot;
use crate::HaulError;
use crate::table::Found;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes of a line at most: twice those of the largest row, since each byte may have a backslash. What is longer was not exported.
const LONGEST: u64 = 256 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, or the table.
    pub of: String,
    pub what: String,
}

pub fn verify(folder: &Path, exported: &Exported, stop: &Stop) -> Result<Vec<Fault>, HaulError> {
    let mut faults = Vec::new();
    for file in &exported.files {
        let what = match read(&folder.join(&file.name), stop) {
            Err(HaulError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Some("it is missing".to_owned())
            }
            found => fault_of(file, found?),
        };
        faults.extend(what.map(|what| Fault { of: file.name.clone(), what }));
    }
    Ok(faults)
}

fn fault_of(file: &ExportedFile, (found, bytes): (Checksum, u64)) -> Option<String> {
    match () {
        () if found.rows != file.rows => {
            Some(format!("{} lines, and {} were exported", found.rows, file.rows))
        }
        () if bytes != file.bytes => Some(format!("{bytes} bytes, and {} were exported", file.bytes)),
        () if found.digits() != file.checksum => Some("the checksum is another one".to_owned()),
        () => None,
    }
}

fn read(path: &Path, stop: &Stop) -> Result<(Checksum, u64), HaulError> {
    let file = File::open(path).map_err(HaulError::io("read", path))?;
    let (mut file, mut line) = (BufReader::with_capacity(1 << 18, file), Vec::new());
    let (mut found, mut bytes) = (Checksum::default(), 0);
    loop {
        line.clear();
        let read = file.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        match read.map_err(HaulError::io("read", path))? {
            0 => return Ok((found, bytes)),
            read => bytes += read as u64,
        }
        found.add(line.strip_suffix(b"\n").unwrap_or(&line));
        if found.rows.is_multiple_of(1 << 14) && stop.is_set() {
            return Err(HaulError::Stopped { path: path.to_owned(), at: bytes });
        }
    }
}

/// Compares a table as it is now with its export.
pub fn compare(target: &Target, exported: &Exported, stop: &Stop) -> Result<Option<Fault>, HaulError> {
    let mut control = snapshot::connect(target, stop)?;
    snapshot::begin(&mut control)?;
    let what = difference(&mut control, &exported.table, exported)?;
    Ok(what.map(|what| Fault { of: exported.table.clone(), what }))
}

/// How a table of this name differs from an export.
pub(super) fn difference(
    control: &mut Control,
    name: &str,
    exported: &Exported,
) -> Result<Option<String>, HaulError> {
    let Some(table) = Found::read(control, name)? else { return Ok(Some("it is gone".to_owned())) };
    let select = match line::select(&table, &exported.columns) {
        Err(column) => return Ok(Some(format!("its column {column} is gone"))),
        Ok(select) => select,
    };
    let (mut found, mut line) = (Checksum::default(), Vec::new());
    control.for_each_row_sent(&select, &mut |row| {
        line.clear();
        line::put(row.texts(), &mut line).map_err(io::Error::other)?;
        found.add(line.strip_suffix(b"\n").unwrap_or(&line));
        Ok(())
    })?;
    Ok(match () {
        () if found.rows != exported.rows => {
            Some(format!("{} rows, and {} were exported", found.rows, exported.rows))
        }
        () if found.digits() != exported.checksum => {
            Some("as many rows, but some values differ from the export".to_owned())
        }
        () => None,
    })
}
