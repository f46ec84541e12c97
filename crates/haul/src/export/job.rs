//! An export from its beginning to its manifest.

use super::line::{Exported, Manifest, Writer};
use super::{check, line};
use crate::audit::{named, no_table};
use crate::table::{Found, literal, quoted};
use crate::{HaulError, Progress, Step, locked, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

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
    /// Errors: the connections cannot share a snapshot, a table cannot be read, a file cannot be written, or somebody asked to stop. The
    /// folder is not there then.
    pub fn run(&self, tell: &(dyn Fn(&Progress) + Sync)) -> Result<Manifest, HaulError> {
        let names = self.names()?;
        let folder = Folder::make(self.into)?;
        let connections = self.connections.min(names.len());
        let (mut controls, at) = check::open(self.target, connections, self.stop)?;
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
            Some(bad) => Err(check::no_name(bad).into()),
            None => Ok(names),
        }
    }
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

/// Removed when it is dropped before [`Folder::finish`].
pub(super) struct Folder {
    pub hidden: PathBuf,
    into: PathBuf,
    is_done: bool,
    /// Two exports at once would write the same files.
    _lock: File,
}

impl Folder {
    /// Makes the folder, without what a killed export left in it.
    pub fn make(into: &Path) -> Result<Self, HaulError> {
        let taken = || {
            let what =
                format!("{} exists already and is not an empty folder; nothing was written", into.display());
            refused(what, "name a new folder")
        };
        if into.exists() && !into.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
            return Err(taken().into());
        }
        let name = into.file_name().ok_or_else(taken)?.to_string_lossy();
        let hidden = into.with_file_name(format!(".{name}.evenkeel-part"));
        fs::create_dir_all(&hidden).map_err(HaulError::io("create", &hidden))?;
        let lock = File::open(&hidden).map_err(HaulError::io("read", &hidden))?;
        if !evenkeel_os::try_lock(lock.as_fd()).map_err(HaulError::io("lock", &hidden))? {
            return Err(HaulError::InUse(into.to_owned()));
        }
        for entry in hidden.read_dir().map_err(HaulError::io("read", &hidden))? {
            let path = entry.map_err(HaulError::io("read", &hidden))?.path();
            fs::remove_file(&path).map_err(HaulError::io("remove", &path))?;
        }
        Ok(Self { hidden, into: into.to_owned(), is_done: false, _lock: lock })
    }

    /// Gives it its name, once all of it is on disk.
    pub fn finish(mut self) -> Result<(), HaulError> {
        let parent = self.into.parent().filter(|parent| !parent.as_os_str().is_empty());
        let named = || {
            File::open(&self.hidden)?.sync_all()?;
            fs::rename(&self.hidden, &self.into)?;
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        };
        named().map_err(HaulError::io("write", &self.into))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_done {
            // What ended the export is what has to be said.
            let _ = fs::remove_dir_all(&self.hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_name_once_it_is_whole_and_takes_nobodys_place() {
        let home = tempfile::tempdir().unwrap();
        let into = home.path().join("out");
        let left = home.path().join(".out.evenkeel-part");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("of a killed one"), "").unwrap();
        let folder = Folder::make(&into).unwrap();
        assert!(matches!(Folder::make(&into), Err(HaulError::InUse(_))));
        fs::write(folder.hidden.join("a.csv"), "1").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "what failed is gone");
        let folder = Folder::make(&into).unwrap();
        fs::write(folder.hidden.join("a.csv"), "1").unwrap();
        folder.finish().unwrap();
        assert_eq!(fs::read(into.join("a.csv")).unwrap(), b"1");
        assert!(matches!(Folder::make(&into), Err(HaulError::Refused(_))));
    }
}
