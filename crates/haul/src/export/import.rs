//! Files of an export go into a table again.

use super::ExportError;
use super::checked::Checked;
use super::line;
use super::manifest::{Exported, Manifest};
use crate::HaulError;
use crate::load::manifest::{self as loads, Brought, KnownFile, Origin};
use crate::table::{Found, quoted};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target, TargetError};
use std::fs::File;
use std::path::Path;

/// Engine whose rows come and go in transactions.
const TRANSACTIONS: &str = "InnoDB";

/// What is loaded, and where to.
pub struct Import<'a> {
    /// The server, with the database of the tables.
    pub target: &'a Target,
    /// The folder of the export.
    pub folder: &'a Path,
    /// Ends it early; a rerun goes on with the first file that is not in.
    pub stop: &'a Stop,
}

/// What became of a table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// Name of the table, unquoted.
    pub table: String,
    /// Whether it was made by the statement that the export has noted.
    pub made: bool,
    /// Files of the export.
    pub files: usize,
    /// Those among them that were in before.
    pub files_before: usize,
    /// Rows that were stored.
    pub rows: u64,
    /// What a user should know.
    pub notes: Vec<String>,
}

impl Import<'_> {
    /// Loads a table's files that are not in yet, each in one transaction where the table has any. Their checksums are looked at
    /// while they are sent; whether they are as they were exported is for [`super::verify`] to say before.
    ///
    /// # Errors
    /// The table has rows of others, or other rows than the manifest of loads says; a file cannot be read or stored; or somebody
    /// asked to stop.
    pub fn run(&self, manifest: &Manifest, tell: &mut dyn FnMut(&Path)) -> Result<Imported, HaulError> {
        if manifest.delimiter.as_bytes() != [line::DELIMITER] {
            let problem = format!("delimiter {:?}", manifest.delimiter);
            return Err(ExportError::Manifest { path: manifest.table.clone(), problem }.into());
        }
        let mut control = Control::connect_until(self.target, self.stop)?;
        prepare(&mut control)?;
        crate::load::lock(&mut control, self.target, &manifest.table)?;
        loads::create(&mut control)?;
        let mut known = loads::read(&mut control, &manifest.table)?;
        let found = Found::read(&mut control, &manifest.table)?;
        let (made, engine) = match found {
            Some(found) => (false, found.engine),
            None => (true, self.make(&mut control, manifest, &known)?),
        };
        let is_safe = engine.eq_ignore_ascii_case(TRANSACTIONS);
        let mut notes = Vec::new();
        if !made {
            self.hold_against(&mut control, manifest, &known)?;
            notes.extend(if is_safe { None } else { begin_again(&mut control, manifest, &known)? });
            known = loads::read(&mut control, &manifest.table)?;
        }
        let origin = if made { Origin::Created } else { Origin::Empty };
        let (mut rows, mut before) = (0, 0);
        for file in &manifest.files {
            let entry = known.iter().find(|known| is_entry(known, file));
            if entry.is_some_and(|entry| entry.done) {
                before += 1;
                continue;
            }
            tell(&self.folder.join(&file.name));
            rows +=
                self.load(&mut control, manifest, file, (entry.map(|entry| entry.id), origin, is_safe))?;
        }
        let (table, files) = (manifest.table.clone(), manifest.files.len());
        Ok(Imported { table, made, files, files_before: before, rows, notes })
    }

    /// Makes the table as it was exported; its engine.
    fn make(
        &self,
        control: &mut Control,
        manifest: &Manifest,
        known: &[KnownFile],
    ) -> Result<String, HaulError> {
        let table = manifest.table.clone();
        if !known.is_empty() {
            return Err(ExportError::Emptied { table, rows: known.iter().map(|file| file.rows).sum() }.into());
        }
        // Whatever else stands in a manifest is no statement for us to make.
        if !manifest.create.starts_with(&format!("CREATE TABLE {} (", quoted(&table))) {
            return Err(ExportError::NoStatement(table).into());
        }
        control.exec(&manifest.create)?;
        let found = Found::read(control, &table)?.ok_or(ExportError::NoTable(table))?;
        Ok(found.engine)
    }

    /// Whether the rows that are there are those of files that are in, as far as their number tells.
    fn hold_against(
        &self,
        control: &mut Control,
        manifest: &Manifest,
        known: &[KnownFile],
    ) -> Result<(), HaulError> {
        let table = manifest.table.clone();
        let count = control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(&table)))?;
        let rows = count.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        let is_ours = |entry: &KnownFile| manifest.files.iter().any(|file| is_entry(entry, file));
        let noted: u64 = known.iter().map(|file| file.rows).sum();
        match () {
            () if known.iter().any(|entry| !is_ours(entry)) => {
                Err(ExportError::Filled { table, rows }.into())
            }
            () if known.is_empty() && rows > 0 => Err(ExportError::Filled { table, rows }.into()),
            () if rows == 0 && noted > 0 => Err(ExportError::Emptied { table, rows: noted }.into()),
            () => Ok(()),
        }
    }

    fn load(
        &self,
        control: &mut Control,
        manifest: &Manifest,
        file: &Exported,
        (known, origin, is_safe): (Option<u64>, Origin, bool),
    ) -> Result<u64, HaulError> {
        let path = self.folder.join(&file.name);
        let full = path.canonicalize().map_err(HaulError::io("read", &path))?;
        let content = content(file);
        let id = match known {
            Some(id) => id,
            None => {
                let name = full.to_string_lossy();
                loads::begin(control, &manifest.table, (&name, content), 0, origin)?
            }
        };
        let columns: Vec<String> = manifest.columns.iter().map(|name| quoted(name)).collect();
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'export' INTO TABLE {} CHARACTER SET utf8mb4 FIELDS TERMINATED BY 0x3B ESCAPED BY 0x5C \
             LINES TERMINATED BY 0x0A ({})",
            quoted(&manifest.table),
            columns.join(",")
        );
        let brought = Brought { records: file.rows, rows: file.rows, rejects: 0 };
        control.exec("BEGIN")?;
        if is_safe {
            loads::claim(control, id, (0, file.bytes))?;
        }
        let opened = File::open(&full).map_err(HaulError::io("read", &full))?;
        let stored = control.load_data_local(&sql, Checked::new(opened, file))?;
        if stored != file.rows {
            let server = warning(control)?;
            control.exec("ROLLBACK")?;
            let (file, rows) = (path.display().to_string(), file.rows);
            return Err(ExportError::Stored { file, rows, stored, server }.into());
        }
        if !is_safe {
            loads::claim(control, id, (0, file.bytes))?;
        }
        loads::tell(control, (id, 0), &brought, true)?;
        control.exec("COMMIT")?;
        Ok(stored)
    }
}

/// The server takes lines as they were written: times are in UTC, and zero is a value as any.
fn prepare(control: &mut Control) -> Result<(), TargetError> {
    crate::audit::prepare(control)?;
    control.exec(
        "SET SESSION time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0, autocommit = 1",
    )?;
    Ok(())
}

/// Length and a part of the checksum, by which a file is known again.
fn content(file: &Exported) -> (u64, u64) {
    let low = file.checksum.get(file.checksum.len().saturating_sub(16)..).unwrap_or_default();
    (file.bytes, u64::from_str_radix(low, 16).unwrap_or(0))
}

fn is_entry(entry: &KnownFile, file: &Exported) -> bool {
    entry.content == content(file) && Path::new(&entry.name).file_name() == Some(file.name.as_ref())
}

/// Where a load into a table without transactions was cut, its rows cannot be told from others: all files begin again.
fn begin_again(
    control: &mut Control,
    manifest: &Manifest,
    known: &[KnownFile],
) -> Result<Option<String>, HaulError> {
    if known.iter().all(|file| file.done) {
        return Ok(None);
    }
    // In this order: a kill between both leaves a table whose load was cut, as before.
    loads::forget(control, known, false)?;
    control.exec(&format!("TRUNCATE TABLE {}", quoted(&manifest.table)))?;
    let table = &manifest.table;
    Ok(Some(format!(
        "a load into {table} was cut, and it has no transactions: emptied, and all files begin again"
    )))
}

/// What the server said first of rows that it did not store.
fn warning(control: &mut Control) -> Result<String, TargetError> {
    let rows = control.query("SHOW WARNINGS LIMIT 1")?.rows;
    let said = rows.first().and_then(|row| row.get(2)?.clone());
    Ok(said.unwrap_or_else(|| "the server gave no reason".to_owned()))
}
