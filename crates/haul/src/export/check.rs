//! Whether files are what was exported, and whether a table is what its files say.

use super::ExportError;
use super::line::{self, Checksum};
use super::manifest::{Exported, Manifest, digits};
use super::ranges::KeyRange;
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

/// Ranges that are named at most where a table differs in many.
const NAMED: usize = 5;

/// What is not as the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, or the table.
    pub of: String,
    /// What is different.
    pub what: String,
}

impl Exported {
    /// Its checksum; `None` where the manifest has none that could be one.
    pub(super) fn sum(&self) -> Option<Checksum> {
        Some(Checksum { rows: self.rows, sum: u128::from_str_radix(&self.checksum, 16).ok()? })
    }
}

/// Holds the files of a table against their manifest.
///
/// # Errors
/// A file cannot be read; that one is missing is a fault.
pub fn verify(folder: &Path, manifest: &Manifest, stop: &Stop) -> Result<Vec<Fault>, HaulError> {
    let mut faults = Vec::new();
    let mut all = Checksum::default();
    for exported in &manifest.files {
        let path = folder.join(&exported.name);
        let mut fault = |what: String| faults.push(Fault { of: exported.name.clone(), what });
        let (found, bytes) = match read(&path, stop) {
            Err(HaulError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                fault("it is missing".to_owned());
                continue;
            }
            found => found?,
        };
        all.join(found);
        match () {
            () if found.rows != exported.rows => {
                fault(format!("{} lines, and {} were exported", found.rows, exported.rows));
            }
            () if bytes != exported.bytes => {
                fault(format!("{bytes} bytes, and {} were exported", exported.bytes));
            }
            () if digits(found) != exported.checksum => fault("the checksum is another one".to_owned()),
            () => {}
        }
    }
    if faults.is_empty() && (all.rows != manifest.rows || digits(all) != manifest.checksum) {
        let what = "its files together are not what its manifest says".to_owned();
        faults.push(Fault { of: manifest.table.clone(), what });
    }
    Ok(faults)
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

/// Holds a table as it is now against the manifest of its files.
///
/// # Errors
/// The table cannot be read.
pub fn compare(
    target: &Target,
    manifest: &Manifest,
    stop: &Stop,
    tell: &mut dyn FnMut(u64),
) -> Result<Vec<Fault>, HaulError> {
    if manifest.delimiter.as_bytes() != [line::DELIMITER] {
        let problem = format!("delimiter {:?}", manifest.delimiter);
        return Err(ExportError::Manifest { path: manifest.table.clone(), problem }.into());
    }
    let mut control = Control::connect_until(target, stop)?;
    crate::audit::prepare(&mut control)?;
    control.exec("SET SESSION time_zone = '+00:00'")?;
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
    let fault = |what: String| Ok(vec![Fault { of: manifest.table.clone(), what }]);
    let Some(table) = Found::read(&mut control, &manifest.table)? else {
        return fault("it is gone".to_owned());
    };
    let select = match line::select(&table, &manifest.columns) {
        Err(column) => return fault(format!("its column {column} is gone")),
        Ok(select) => select,
    };
    let found = sum(&mut control, &select, tell)?;
    let what = match () {
        () if found.rows != manifest.rows => {
            format!("{} rows, and {} were exported", found.rows, manifest.rows)
        }
        () if digits(found) != manifest.checksum => {
            "as many rows, and some have other values than were exported".to_owned()
        }
        () => return Ok(Vec::new()),
    };
    fault(format!("{what}{}", narrowed(&mut control, &select, manifest)?))
}

/// The rows that a statement brings, as lines.
fn sum(control: &mut Control, select: &str, tell: &mut dyn FnMut(u64)) -> Result<Checksum, HaulError> {
    let (mut found, mut line) = (Checksum::default(), Vec::new());
    control.for_each_row_sent(select, &mut |row| {
        line.clear();
        line::put(row.texts(), &mut line).map_err(io::Error::other)?;
        found.add(line.strip_suffix(b"\n").unwrap_or(&line));
        tell(found.rows);
        Ok(())
    })?;
    Ok(found)
}

/// In which files, and in which of their keys, the difference is, where the manifest tells of more than one range.
fn narrowed(control: &mut Control, select: &str, manifest: &Manifest) -> Result<String, HaulError> {
    let mut ranges: Vec<(&KeyRange, &str, Checksum)> = Vec::new();
    for file in &manifest.files {
        let Some((keys, sum)) = file.keys.as_ref().zip(file.sum()) else { return Ok(String::new()) };
        match ranges.last_mut() {
            Some((known, _, all)) if *known == keys => all.join(sum),
            _ => ranges.push((keys, &file.name, sum)),
        }
    }
    let mut named = Vec::new();
    for (keys, file, expected) in ranges {
        if sum(control, &format!("{select}{}", keys.condition()), &mut |_| {})? != expected {
            named.push(format!("{keys} ({file})"));
        }
    }
    Ok(match named.len() {
        0 => "; different in keys of which none was exported".to_owned(),
        1..=NAMED => format!("; different in {}", named.join(", ")),
        more => format!("; different in {} and {} more", named[..NAMED].join(", "), more - NAMED),
    })
}
