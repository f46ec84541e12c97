//! An export from its beginning to its manifests.

use super::manifest::Manifest;
use super::origin::Origin;
use super::progress::Progress;
use super::worker::{Pending, Range, Shared};
use super::{ExportError, How, Instant, instant, line, ranges};
use crate::HaulError;
use crate::audit::{AuditError, named};
use crate::table::{Found, literal, quoted};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

/// Rows of a range at least, by the server's own guess.
const RANGE: u64 = 50_000;
/// Ranges for each connection, so that none is left with the longest one.
const RANGES: u64 = 4;

/// What is exported, and where to.
pub struct Export<'a> {
    /// The server, with its database.
    pub target: &'a Target,
    /// Names of tables, and patterns of them.
    pub tables: &'a [String],
    /// The folder; made where there is none.
    pub into: &'a Path,
    /// Connections, which read beside each other.
    pub connections: usize,
    /// Rows of a file at most.
    pub rows_per_file: u64,
    /// Ends it early; a rerun leaves alone what is whole.
    pub stop: &'a Stop,
}

impl Export<'_> {
    /// Exports; says of each table what its files are, and whether they were there before.
    ///
    /// # Errors
    /// The connections cannot be brought to one instant, a table cannot be read, a file cannot be written, or somebody asked to
    /// stop. Tables that were whole by then stay.
    pub fn run(&self, tell: &(dyn Fn(&Progress) + Sync)) -> Result<Vec<(Manifest, bool)>, HaulError> {
        if self.target.database.is_none() {
            return Err(AuditError::NoDatabase.into());
        }
        fs::create_dir_all(self.into).map_err(HaulError::io("create", self.into))?;
        let _lock = self.lock()?;
        let mut control = Control::connect_until(self.target, self.stop)?;
        let mut names: Vec<String> = Vec::new();
        for word in self.tables {
            names.extend(named(&mut control, word)?);
        }
        names.sort();
        names.dedup();
        let origin = Origin::of(&mut control)?;
        // All are looked at before anything is taken away.
        let (mut all, mut gone) = (Vec::new(), Vec::new());
        for name in &names {
            match Manifest::known(self.into, name, &origin)?.filter(|known| known.is_whole(self.into)) {
                Some(known) => all.push((known, true)),
                None => gone.extend(self.left_over(name, &origin)?),
            }
        }
        remove(&gone)?;
        let missing = |name: &&String| !all.iter().any(|(known, _)| known.table == **name);
        let names: Vec<&String> = names.iter().filter(missing).collect();
        if !names.is_empty() {
            all.extend(self.export(&names, &origin, tell)?.into_iter().map(|manifest| (manifest, false)));
        }
        all.sort_by(|(one, _), (other, _)| one.table.cmp(&other.table));
        Ok(all)
    }

    fn export(
        &self,
        names: &[&String],
        origin: &Origin,
        tell: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Vec<Manifest>, HaulError> {
        let (mut controls, instant) = instant::open(self.target, self.connections, self.stop)?;
        let (mut pending, mut queue) = (Vec::new(), VecDeque::new());
        for (table, name) in names.iter().enumerate() {
            let found =
                Found::read(&mut controls[0], name)?.ok_or_else(|| ExportError::NoTable((*name).clone()))?;
            let manifest = self.describe(&mut controls[0], &found, (origin, &instant))?;
            let select = line::select(&found, &manifest.columns)
                .map_err(|column| ExportError::NoTable(format!("{name}.{column}")))?;
            let at_most = self.ranges(&mut controls, name)?;
            let keys = ranges::of(&mut controls[0], &found, at_most)?;
            pending.push(Pending { manifest, select, left: keys.len(), files: Vec::new() });
            queue.extend(keys.into_iter().enumerate().map(|(number, keys)| Range { table, number, keys }));
        }
        let shared = Shared {
            into: self.into,
            rows_per_file: self.rows_per_file,
            ranges: Mutex::new(queue),
            pending: Mutex::new(pending),
            failed: AtomicBool::new(false),
            first_error: Mutex::new(None),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            tell,
        };
        std::thread::scope(|scope| {
            for control in controls.drain(..) {
                scope.spawn(|| shared.work(control));
            }
        });
        let pending = shared.pending.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = shared.first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for table in pending.iter().filter(|table| table.left > 0) {
                // What ended the export is what has to be said. What stays is taken away by the next one, or named by it.
                let _ = self.left_over(&table.manifest.table, origin).and_then(|gone| remove(&gone));
            }
            return Err(error);
        }
        Ok(pending.into_iter().map(|table| table.manifest).collect())
    }

    /// Ranges that a table is worth.
    fn ranges(&self, controls: &mut [Control], name: &str) -> Result<u64, HaulError> {
        let sql = format!(
            "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = CONVERT({} USING utf8)",
            literal(name.as_bytes())
        );
        let connections = controls.len() as u64;
        let guess = controls[0].query_value(&sql)?.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        Ok(if connections < 2 { 1 } else { (guess / RANGE + 1).min(connections * RANGES) })
    }

    fn describe(
        &self,
        control: &mut Control,
        found: &Found,
        (origin, instant): (&Origin, &Instant),
    ) -> Result<Manifest, HaulError> {
        if found.kind != "BASE TABLE" {
            return Err(ExportError::Kind { table: found.name.clone(), kind: found.kind.clone() }.into());
        }
        // Of an account that may see some columns alone the server hides the others; this it refuses.
        control.query(&format!("SELECT * FROM {} LIMIT 0", quoted(&found.name)))?;
        let columns = control.query(&format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
             AND TABLE_NAME = CONVERT({} USING utf8) AND COALESCE(GENERATION_EXPRESSION, '') = '' ORDER BY ORDINAL_POSITION",
            literal(found.name.as_bytes())
        ))?;
        let columns = columns.rows.into_iter().flatten().flatten().collect();
        let create = control.query(&format!("SHOW CREATE TABLE {}", quoted(&found.name)))?;
        let create = create.rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
        let holds = found.engine.eq_ignore_ascii_case("InnoDB");
        Ok(Manifest {
            version: Manifest::version(),
            table: found.name.clone(),
            origin: Some(origin.clone()),
            engine: found.engine.clone(),
            create: create.unwrap_or_default(),
            columns,
            delimiter: char::from(line::DELIMITER).to_string(),
            time_zone: "+00:00".to_owned(),
            instant: Instant { holds, ..instant.clone() },
            rows: 0,
            checksum: String::new(),
            files: Vec::new(),
        })
    }

    /// What is left of a table that is not whole. A file with the name of an export that no manifest knows is somebody else's.
    fn left_over(&self, table: &str, origin: &Origin) -> Result<Vec<PathBuf>, HaulError> {
        if table.is_empty() || table.starts_with('.') || table.contains('/') {
            return Err(ExportError::Name(table.to_owned()).into());
        }
        let (file, part) = (format!("{table}."), format!(".{table}."));
        let ours = Manifest::files_of(self.into, table, origin);
        let mut gone = Vec::new();
        for entry in self.into.read_dir().map_err(HaulError::io("read", self.into))? {
            let path = entry.map_err(HaulError::io("read", self.into))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_file = name.strip_prefix(&file).is_some_and(|rest| is_number(rest, ".csv"));
            let is_part = name.strip_prefix(&part).is_some_and(|rest| is_number(rest, ".csv.part"));
            if is_file && !ours.contains(&name) {
                return Err(ExportError::Foreign(path.display().to_string()).into());
            }
            if is_file || is_part {
                gone.push(path);
            }
        }
        // The manifests go last, since they say whose the files are.
        let manifests = [Manifest::path(self.into, table), Manifest::hidden(self.into, table)];
        gone.extend(manifests.into_iter().filter(|path| path.exists()));
        Ok(gone)
    }

    /// Two exports at once would write the same files.
    fn lock(&self) -> Result<File, HaulError> {
        let file = File::open(self.into).map_err(HaulError::io("read", self.into))?;
        match evenkeel_os::try_lock(file.as_fd()).map_err(HaulError::io("lock", self.into))? {
            true => Ok(file),
            false => Err(HaulError::InUse(self.into.to_owned())),
        }
    }
}

fn remove(paths: &[PathBuf]) -> Result<(), HaulError> {
    paths.iter().try_for_each(|path| fs::remove_file(path).map_err(HaulError::io("remove", path)))
}

/// Whether a name goes on as those of an export do: the number of the range in four digits or more, and behind a dash that of the file,
/// from the second on. Anything else is another table's or somebody else's.
fn is_number(rest: &str, ending: &str) -> bool {
    let Some(numbers) = rest.strip_suffix(ending) else { return false };
    let (range, file) = numbers.split_once('-').unwrap_or((numbers, "2"));
    let digits = |text: &str, least| text.len() >= least && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(range, 4) && digits(file, 1)
}

impl How {
    /// As a part of a sentence.
    pub fn explain(self) -> &'static str {
        match self {
            Self::ReadLock => "opened under a read lock",
            Self::BinlogPosition => "opened at one position of the binary log",
            Self::OneConnection => "one connection",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_number;

    #[test]
    fn only_files_with_the_names_of_an_export_are_taken_away() {
        assert!(is_number("0001.csv", ".csv") && is_number("12345-2.csv", ".csv"));
        assert!(is_number("0001-3.csv.part", ".csv.part"));
        for others in
            ["1.0001.csv", "2026-08-01.cdr.csv", "01.csv", "0001.csv.gz", "0001-.csv", "0001x.csv", ".csv"]
        {
            assert!(!is_number(others, ".csv"), "{others}");
        }
    }
}
