//! What is noted of an export: `export.json` in its folder.

use super::line::Checksum;
use crate::{HaulError, refused};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

const VERSION: u32 = 2;
const NAME: &str = "export.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    /// The server's clock at the snapshot, UTC.
    pub at: String,
    pub tables: Vec<Exported>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    pub table: String,
    pub engine: String,
    /// Whether the engine takes part in the snapshot; without, rows that changed during the export are as they were found.
    pub snapshot: bool,
    pub create: String,
    /// Fields of a line, in their order.
    pub columns: Vec<String>,
    pub rows: u64,
    /// Sum of the XXH3 (128 bits) of all lines, in hexadecimal digits.
    pub checksum: String,
    pub files: Vec<ExportedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFile {
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    pub checksum: String,
}

impl Manifest {
    pub(super) fn new(at: String, tables: Vec<Exported>) -> Self {
        Self { version: VERSION, at, tables }
    }

    pub fn read(folder: &Path) -> Result<Self, HaulError> {
        let path = folder.join(NAME);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let what = format!("{} holds no export (export.json)", folder.display());
                return Err(refused(what, "name the folder that `evenkeel cdr export --into` wrote").into());
            }
            bytes => bytes.map_err(HaulError::io("read", &path))?,
        };
        let wrong =
            |problem: String| refused(format!("{}: {problem}", path.display()), "export the tables again");
        let found: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        // Names of files are of this folder, whoever wrote the manifest.
        let is_plain = |file: &ExportedFile| Path::new(&file.name).file_name() == Some(file.name.as_ref());
        if found.version != VERSION {
            return Err(wrong(format!("version {} is not {VERSION}", found.version)).into());
        }
        if !found.tables.iter().flat_map(|table| &table.files).all(is_plain) {
            return Err(wrong("it names a file of another folder".to_owned()).into());
        }
        Ok(found)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), HaulError> {
        let path = folder.join(NAME);
        let written = || -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            file.sync_all()
        };
        written().map_err(HaulError::io("write", &path))
    }
}

impl Exported {
    /// Notes the files, with the rows and the checksum of all.
    pub(super) fn set_files(&mut self, files: Vec<(ExportedFile, Checksum)>) {
        let mut all = Checksum::default();
        files.iter().for_each(|(_, sum)| all.join(*sum));
        (self.rows, self.checksum) = (all.rows, all.digits());
        self.files = files.into_iter().map(|(file, _)| file).collect();
    }
}
