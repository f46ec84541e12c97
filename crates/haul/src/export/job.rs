//! An export from its beginning to its manifest.

use super::folder::Folder;
use super::manifest::{Exported, Manifest};
use super::writer::Writer;
use super::{line, snapshot};
use crate::audit::{named, no_table};
use crate::table::{Found, literal, quoted};
use crate::{HaulError, Progress, Refused, Step, locked, refused};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const TELL: u64 = 1 << 14;

pub struct Export<'a> {
    pub target: &'a Target,
    pub tables: &'a [String],
    pub into: &'a Path,
    /// Connections at most; each reads one table after the other.
    pub connections: usize,
    pub stop: &'a Stop,
}

struct Shared<'a> {
    folder: &'a Path,
    /// The tables, each with what is asked of it.
    tables: Vec<(Mutex<Exported>, String)>,
    next: AtomicUsize,
    is_failed: AtomicBool,
    first_error: Mutex<Option<HaulError>>,
    rows: AtomicU64,
    bytes: AtomicU64,
    tell: &'a (dyn Fn(&Progress) + Sync),
}

impl Export<'_> {
    /// Exports.
    ///
    /// # Errors
    /// The connections cannot share a snapshot, a table cannot be read, a file cannot be written, or somebody asked to stop. The
    /// folder is not there then.
    pub fn run(&self, tell: &(dyn Fn(&Progress) + Sync)) -> Result<Manifest, HaulError> {
        let names = self.names()?;
        let folder = Folder::make(self.into)?;
        let connections = self.connections.min(names.len());
        let (mut controls, at) = snapshot::open(self.target, connections, self.stop)?;
        let mut tables = Vec::new();
        for name in &names {
            let (exported, select) = describe(&mut controls[0], name)?;
            tables.push((Mutex::new(exported), select));
        }
        let shared = Shared {
            folder: &folder.hidden,
            tables,
            next: AtomicUsize::new(0),
            is_failed: AtomicBool::new(false),
            first_error: Mutex::new(None),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            tell,
        };
        std::thread::scope(|scope| {
            for control in controls {
                scope.spawn(|| shared.work(control));
            }
        });
        if let Some(error) = locked(&shared.first_error).take() {
            return Err(error);
        }
        let exported =
            |table: (Mutex<Exported>, String)| table.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let manifest = Manifest::new(at, shared.tables.into_iter().map(exported).collect());
        manifest.write(&folder.hidden)?;
        folder.finish()?;
        Ok(manifest)
    }

    fn names(&self) -> Result<Vec<String>, HaulError> {
        let mut control = Control::connect_until(self.target, self.stop)?;
        let mut names: Vec<String> = Vec::new();
        for word in self.tables {
            names.extend(named(&mut control, word)?);
        }
        names.sort();
        names.dedup();
        match names.iter().find(|name| name.starts_with('.') || name.contains('/')) {
            Some(bad) => Err(no_name(bad).into()),
            None => Ok(names),
        }
    }
}

pub(super) fn no_name(table: &str) -> Refused {
    refused(format!("table {table:?}: its name cannot be the name of a file"), "rename the table")
}

fn describe(control: &mut Control, name: &str) -> Result<(Exported, String), HaulError> {
    let found = Found::read(control, name)?.ok_or_else(|| no_table(name))?;
    if found.kind != "BASE TABLE" {
        let what = format!("{name} is not a table but a {}", found.kind);
        return Err(refused(what, "SHOW FULL TABLES lists them").into());
    }
    // Of an account that may see some columns alone the server hides the others; this it refuses.
    control.query(&format!("SELECT * FROM {} LIMIT 0", quoted(name)))?;
    let columns = control.query(&format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
         AND TABLE_NAME = CONVERT({} USING utf8) AND COALESCE(GENERATION_EXPRESSION, '') = '' ORDER BY ORDINAL_POSITION",
        literal(name.as_bytes())
    ))?;
    let columns: Vec<String> = columns.rows.into_iter().flatten().flatten().collect();
    let create = control.query(&format!("SHOW CREATE TABLE {}", quoted(name)))?;
    let create = create.rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    let select = line::select(&found, &columns).map_err(|column| no_table(&format!("{name}.{column}")))?;
    let exported = Exported {
        snapshot: found.engine.eq_ignore_ascii_case("InnoDB"),
        table: found.name,
        engine: found.engine,
        create: create.unwrap_or_default(),
        columns,
        rows: 0,
        checksum: String::new(),
        files: Vec::new(),
    };
    Ok((exported, select))
}

impl Shared<'_> {
    /// Takes tables until there is none.
    fn work(&self, mut control: Control) {
        while !self.is_failed.load(Ordering::Relaxed)
            && let Some((exported, select)) = self.tables.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            if let Err(error) = self.table(&mut control, &mut locked(exported), select)
                && !self.is_failed.swap(true, Ordering::Relaxed)
            {
                *locked(&self.first_error) = Some(error);
            }
        }
    }

    fn table(&self, control: &mut Control, exported: &mut Exported, select: &str) -> Result<(), HaulError> {
        let table = exported.table.clone();
        let mut writer = Writer::new(self.folder, &table);
        let (mut line, mut refused) = (Vec::new(), None);
        let read = control.for_each_row_sent(select, &mut |row| {
            if self.is_failed.load(Ordering::Relaxed) {
                return Err(io::Error::other("another connection failed"));
            }
            line.clear();
            line::put(row.texts(), &mut line).map_err(io::Error::other)?;
            self.tell(line.len());
            writer.write(&line).map_err(|error| {
                refused = Some(error);
                io::Error::other("not written")
            })
        });
        match refused {
            Some(error) => return Err(error),
            None => read.map(drop)?,
        }
        exported.set_files(writer.finish()?);
        Ok(())
    }

    fn tell(&self, bytes: usize) {
        let records = self.rows.fetch_add(1, Ordering::Relaxed) + 1;
        let read = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if records.is_multiple_of(TELL) {
            (self.tell)(&Progress { step: Step::Export, read, records, ..Progress::default() });
        }
    }
}
