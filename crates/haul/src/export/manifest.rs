//! What is noted of a table that was exported.

use super::line::Checksum;
use super::origin::Origin;
use super::ranges::KeyRange;
use super::{ExportError, Instant};
use crate::HaulError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The form of the file.
const VERSION: u32 = 1;

/// A table that was exported: `TABLE.export.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Form of this file.
    pub version: u32,
    /// Name of the table, unquoted.
    pub table: String,
    /// The database that it is of. Earlier versions did not note it.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Where its rows were stored.
    pub engine: String,
    /// The statement that makes it.
    pub create: String,
    /// Fields of a line, in their order.
    pub columns: Vec<String>,
    /// What parts the fields of a line; a backslash escapes, `\N` is NULL, and text is utf8mb4.
    pub delimiter: String,
    /// Time zone of all timestamps.
    pub time_zone: String,
    /// As of when.
    pub instant: Instant,
    /// Lines of all files.
    pub rows: u64,
    /// Sum of the XXH3 (128 bits) of all lines, in hexadecimal digits.
    pub checksum: String,
    /// The files, in the order in which they are read.
    pub files: Vec<Exported>,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// Its name in the folder.
    pub name: String,
    /// Lines of the file, one for each row.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Sum of the XXH3 (128 bits) of its lines.
    pub checksum: String,
    /// Keys of its rows; files of one range have the same. Earlier versions did not note them.
    #[serde(default)]
    pub keys: Option<KeyRange>,
}

/// As a manifest has it.
pub(super) fn digits(checksum: Checksum) -> String {
    format!("{:032x}", checksum.sum)
}

impl Manifest {
    /// Form of the files that are written now.
    pub(super) fn version() -> u32 {
        VERSION
    }

    /// The name of a table's manifest.
    pub(super) fn path(into: &Path, table: &str) -> PathBuf {
        into.join(format!("{table}.export.json"))
    }

    /// Reads one.
    ///
    /// # Errors
    /// It cannot be read, or is none of ours.
    pub fn read(path: &Path) -> Result<Self, HaulError> {
        let bytes = fs::read(path).map_err(HaulError::io("read", path))?;
        let wrong = |problem: String| ExportError::Manifest { path: path.display().to_string(), problem };
        let found: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        // Names of files are of this folder, whoever wrote the manifest.
        let is_plain = |file: &Exported| Path::new(&file.name).file_name() == Some(file.name.as_ref());
        match found {
            found if found.version != VERSION => Err(wrong(format!("version {}", found.version)).into()),
            found if !found.files.iter().all(is_plain) => {
                Err(wrong("a file of another folder".to_owned()).into())
            }
            found if !found.files.iter().flat_map(|file| &file.keys).all(KeyRange::is_plain) => {
                Err(wrong("keys that are no numbers".to_owned()).into())
            }
            found => Ok(found),
        }
    }

    /// What is noted of a table in a folder, if anything is, provided that it is of this database. What another one has there is not
    /// to be taken for its own, and not to be replaced.
    pub(super) fn known(into: &Path, table: &str, origin: &Origin) -> Result<Option<Self>, HaulError> {
        let path = Self::path(into, table);
        let found = match Self::read(&path) {
            Err(HaulError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let path = path.display().to_string();
        if found.table != table {
            let problem = format!("it is of table {}", found.table);
            return Err(ExportError::Manifest { path, problem }.into());
        }
        match &found.origin {
            None => Err(ExportError::NoOrigin { path }.into()),
            Some(other) if !other.is_same(origin) => {
                Err(ExportError::Origin { path, found: other.to_string(), wanted: origin.to_string() }.into())
            }
            Some(_) => Ok(Some(found)),
        }
    }

    /// Whether its files are there, each as long as it was.
    pub fn is_whole(&self, folder: &Path) -> bool {
        let rows: u64 = self.files.iter().map(|file| file.rows).sum();
        rows == self.rows
            && self
                .files
                .iter()
                .all(|file| folder.join(&file.name).metadata().is_ok_and(|found| found.len() == file.bytes))
    }

    /// Writes it under a hidden name, before any file has its own: by that a file is known as an export's, also after a kill between.
    pub(super) fn announce(&self, into: &Path) -> Result<(), HaulError> {
        let hidden = Self::hidden(into, &self.table);
        let written = || -> std::io::Result<()> {
            let mut file = File::create(&hidden)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()?;
            File::open(into)?.sync_all()
        };
        written().map_err(HaulError::io("write", &hidden))
    }

    /// Gives it its name, once its files have theirs.
    pub(super) fn publish(&self, into: &Path) -> Result<(), HaulError> {
        let path = Self::path(into, &self.table);
        let named = fs::rename(Self::hidden(into, &self.table), &path);
        named.and_then(|()| File::open(into)?.sync_all()).map_err(HaulError::io("write", &path))
    }

    /// The name of a manifest that is not published yet.
    pub(super) fn hidden(into: &Path, table: &str) -> PathBuf {
        into.join(format!(".{table}.export.json.part"))
    }

    /// Names of the files that exports of a table of this database have written into a folder.
    pub(super) fn files_of(into: &Path, table: &str, origin: &Origin) -> BTreeSet<String> {
        let manifests = [Self::path(into, table), Self::hidden(into, table)];
        let known = manifests.iter().filter_map(|path| Self::read(path).ok());
        let ours = known.filter(|known| known.origin.as_ref().is_some_and(|other| other.is_same(origin)));
        ours.flat_map(|known| known.files).map(|file| file.name).collect()
    }
}

/// All manifests of a folder, by the names of their tables.
///
/// # Errors
/// The folder cannot be read or holds none, or one of them is broken.
pub fn manifests(folder: &Path) -> Result<Vec<Manifest>, HaulError> {
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(HaulError::io("read", folder))? {
        let path = entry.map_err(HaulError::io("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".export.json") && !name.starts_with('.') {
            found.push(Manifest::read(&path)?);
        }
    }
    found.sort_by(|one, other| one.table.cmp(&other.table));
    match found.is_empty() {
        true => Err(ExportError::NoManifest(folder.display().to_string()).into()),
        false => Ok(found),
    }
}
