//! A load of many files.

use super::files::{Ground, LoadedFile, Looked};
use super::manifest::{KnownFile, Origin};
use super::rejects::{Rejects, Turn};
use super::store::{Options, Shared};
use super::{files, manifest, store};
use crate::audit::{AfterLoad, Audit, Early, Hashing, Report};
use crate::convert::{Duplicates, Tally};
use crate::layout::LayoutFile;
use crate::table::{Engine, Table, literal, with_timestamps};
use crate::{HaulError, Progress, Step, dispatch, locked, session};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::sync_channel;
use xxhash_rust::xxh3::xxh3_64;

pub struct Job<'a> {
    pub file: &'a LayoutFile,
    pub inputs: Vec<PathBuf>,
    pub target: &'a Target,
    /// Tables by record type; made where they are missing.
    pub tables: Vec<Table>,
    pub rejects: &'a Path,
    /// A file of rejects of the inputs, which are loaded: those that the layout takes now are added.
    pub corrected: Option<&'a Path>,
    pub duplicates: Duplicates,
    pub options: Options,
    /// Bytes of lines that were sent to the server, for who watches; those of a part that is sent again count again.
    pub sent: &'a AtomicU64,
    pub stop: &'a Stop,
}

/// The tables, the files and the manifest, once they agree.
pub(super) struct Settled {
    /// The tables' names as the manifest has them.
    pub named: String,
    pub engine: Engine,
    pub origin: Origin,
    pub looked: Vec<Looked>,
    pub known: Vec<KnownFile>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Loaded {
    /// The tables' names as the manifest has them.
    #[serde(skip)]
    pub named: String,
    pub tally: Tally,
    pub files: Vec<LoadedFile>,
    pub notes: Vec<String>,
    /// Sums over the records by their type, where this load has read all of each file.
    #[serde(skip)]
    pub(super) early: Vec<Early>,
}

impl Loaded {
    /// Whether anything is in that no audit has looked at: what is new, or what a load brought that was killed before its audit.
    pub fn wants_audit(&self) -> bool {
        let is_unknown =
            |file: &LoadedFile| file.tally.records > 0 || (file.before > 0 && !file.audited_before);
        self.files.iter().any(is_unknown)
    }
}

/// Seconds that a load waits for another one to end: the server takes a moment to notice that one was killed.
const BUSY_S: u32 = 10;

impl Job<'_> {
    /// Loads all that is not in yet. Nothing of a file is stored of which too many records are rejects.
    /// Errors: anything that cannot be read or stored; what is in stays in, and a rerun goes on.
    pub fn run(self, tell: &mut (dyn FnMut(&Progress) + Send)) -> Result<Loaded, HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        let file = self.file_for(&mut control)?;
        Job { file: &file, ..self }.go(control, tell)
    }

    /// The layout as the tables take it.
    pub(super) fn file_for(&self, control: &mut Control) -> Result<LayoutFile, HaulError> {
        let names: Vec<_> = self.tables.iter().map(|table| table.name.as_str()).enumerate().collect();
        with_timestamps(control, self.file, &names)
    }

    fn go(
        mut self,
        mut control: Control,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Loaded, HaulError> {
        let settled = self.settle(&mut control)?;
        if let Some(path) = self.corrected {
            return self.correct(&mut control, &settled, path);
        }
        let Settled { named, engine, origin, looked, known, mut notes } = settled;
        let ground = Ground { tables: &named, separator: self.file.separator, layout: self.rules(), origin };
        let mut files = files::plan(&mut control, &ground, looked, &known)?;
        self.inputs = files.iter().map(|file| file.path.clone()).collect();
        self.check_rejects(&files, tell)?;
        self.create_tables(&mut control)?;
        let is_fresh = |file: &LoadedFile| !file.done && file.before == 0;
        let hashing = match self.options.audited && files.iter().all(is_fresh) {
            true => Hashing::of(&mut control, self.file, &self.tables)?,
            false => Hashing::NONE,
        };
        let mut early = hashing.begin(&files.iter().map(|file| Some(file.identity)).collect::<Vec<_>>());
        if files.iter().any(|file| !file.done) {
            let rejects = Rejects::open(self.rejects, &files)?;
            notes.extend(rejects.note());
            let tallies = self.load((&files, rejects), (&named, engine), (&hashing, &mut early), tell)?;
            files.iter_mut().zip(tallies).for_each(|(file, tally)| file.tally = tally);
        }
        if !engine.has_transactions() {
            for file in &files {
                control.exec(&format!(
                    "UPDATE {} SET state = 'done' WHERE id = {}",
                    manifest::FILES,
                    file.id
                ))?;
            }
        }
        if origin == Origin::Created {
            for table in &self.tables {
                if let Some(sql) = missing(&mut control, table)? {
                    tell(&Progress { step: Step::Indexes, ..Progress::default() });
                    control.exec(&sql)?;
                }
            }
        }
        let tally = sum(files.iter().map(|file| &file.tally));
        Ok(Loaded { named, tally, files, notes, early })
    }

    pub(super) fn rules(&self) -> u64 {
        let LayoutFile { layout, separator, text, .. } = self.file;
        let refuses = self.duplicates == Duplicates::Refuse;
        xxh3_64(format!("{refuses} {:?} {separator:?} {text}", layout.is_ragged()).as_bytes())
    }

    fn load(
        &self,
        (files, rejects): (&[LoadedFile], Rejects),
        (named, engine): (&str, Engine),
        (hashing, early): (&Hashing, &mut [Early]),
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Vec<Tally>, HaulError> {
        let mut seen = self.seen_before(files, tell)?;
        let records = hashing.records(self.file, &self.inputs, self.duplicates, self.stop);
        let shared = Shared {
            tables: &self.tables,
            named,
            engine,
            options: self.options,
            inputs: &self.inputs,
            separator: self.file.separator,
            turn: Turn::default(),
            rejects: Mutex::new(rejects),
            stored: Mutex::new(vec![Tally::default(); files.len()]),
            failed: Mutex::new(None),
            spare: Mutex::new(Vec::new()),
            sent: self.sent,
        };
        let mut controls = Vec::new();
        for _ in 0..self.options.connections.max(1) {
            let mut control = session::connect(self.target, self.stop)?;
            store::prepare(&mut control)?;
            controls.push(control);
        }
        let (sender, receiver) = sync_channel(0);
        let receiver = std::sync::Arc::new(Mutex::new(receiver));
        let read = std::thread::scope(|scope| {
            let shared = &shared;
            for control in controls {
                let receiver = std::sync::Arc::clone(&receiver);
                scope.spawn(move || shared.serve(control, &receiver));
            }
            // The connections alone hold it, so that nothing is handed to nobody.
            drop(receiver);
            let read = self.read((files, seen.as_mut()), (&records, early), shared, &sender, tell);
            if read.is_err() {
                shared.turn.end();
            }
            drop(sender);
            read
        });
        let failed = locked(&shared.failed).take();
        failed.map_or(read, Err)?;
        let stored = std::mem::take(&mut *locked(&shared.stored));
        Ok(stored)
    }
}

/// Keeps other loads into these tables out for as long as the connection lasts.
pub(crate) fn lock(control: &mut Control, named: &str) -> Result<(), HaulError> {
    match session::lock(control, "load", named, BUSY_S)? {
        true => Ok(()),
        false => Err(HaulError::Busy(named.to_owned())),
    }
}

pub(super) fn sum<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    let mut sum = Tally::default();
    tallies.into_iter().for_each(|tally| sum.add(tally));
    sum
}

/// Columns of each index of a table by its name; of an expression an empty one.
pub(super) fn indexes(
    control: &mut Control,
    table: &Table,
    only_unique: bool,
) -> Result<BTreeMap<String, Vec<String>>, HaulError> {
    let rows = control.query(&format!(
        "SELECT INDEX_NAME, COALESCE(COLUMN_NAME, '') FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
         AND TABLE_NAME = CONVERT({} USING utf8) AND NON_UNIQUE <= {} ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        literal(table.name.as_bytes()),
        u8::from(!only_unique)
    ))?;
    let mut there: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows.rows {
        let [Some(index), Some(column)] = &row[..] else { continue };
        there.entry(index.clone()).or_default().push(column.clone());
    }
    Ok(there)
}

fn missing(control: &mut Control, table: &Table) -> Result<Option<String>, HaulError> {
    let there = indexes(control, table, false)?;
    let mut missing = table.clone();
    missing.indexes.retain(|index| !there.values().any(|known| known == index));
    if there.contains_key("PRIMARY") {
        missing.primary.clear();
    }
    Ok(missing.add_indexes_sql())
}

pub struct Check<'a> {
    pub file: &'a LayoutFile,
    pub target: &'a Target,
    pub tables: &'a [String],
    pub rejects: &'a Path,
    pub duplicates: Duplicates,
    /// A folder for what does not fit into memory.
    pub scratch: &'a Path,
    pub names: usize,
    pub stop: &'a Stop,
}

impl Check<'_> {
    /// Holds the files of a load against its tables and its rejects, each type of record for itself. Records that were in before and may be
    /// in day tables by now are counted and not looked for. Rows that other loads stored are no finding, and rows that no file has are one
    /// only where the manifest says that the tables hold these files alone.
    /// Errors: a file or a table cannot be read, or a file changed since; the load itself is done.
    pub fn run(&self, loaded: &Loaded, tell: &(dyn Fn(&Progress) + Sync)) -> Result<Vec<Report>, HaulError> {
        let after = self.after(loaded)?;
        let inputs: Vec<PathBuf> = loaded.files.iter().map(|file| file.path.clone()).collect();
        let types = self.file.layout.types();
        let mut reports = Vec::new();
        for (record_type, (table, of)) in self.tables.iter().zip(types).enumerate() {
            let audit = Audit {
                file: self.file,
                record_type,
                inputs: inputs.clone(),
                target: self.target,
                tables: vec![table.clone()],
                rejects: Some(self.rejects.to_owned()).filter(|path| path.is_file()),
                duplicates: self.duplicates,
                after: Some(AfterLoad { keyed: !of.key.is_empty(), ..after.clone() }),
                names: self.names,
                scratch: self.scratch,
                stop: self.stop,
            };
            reports.push(audit.run_after(loaded.early.get(record_type), tell)?);
        }
        Ok(reports)
    }

    /// Notes in the manifest that these files were audited, so that a rerun does not do it again: once somebody was told what was found.
    /// Errors: what the server said; a rerun audits once more.
    pub fn note(&self, loaded: &Loaded) -> Result<(), HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        let mut known = manifest::read(&mut control, &loaded.named)?;
        known.retain(|known| loaded.files.iter().any(|file| file.name == known.name));
        Ok(manifest::audited(&mut control, &known)?)
    }

    fn after(&self, loaded: &Loaded) -> Result<AfterLoad, HaulError> {
        let mut control = session::connect(self.target, self.stop)?;
        let known = manifest::read(&mut control, &loaded.named)?;
        let mut dispatched = false;
        for table in loaded.named.split(',') {
            dispatched |= dispatch::moved(&mut control, table)?.all > 0;
        }
        let is_here = |name: &str| loaded.files.iter().any(|file| file.name == name);
        let others = known.iter().any(|file| file.origin == Origin::Filled || !is_here(&file.name));
        let before = loaded.files.iter().map(|file| file.before).collect();
        Ok(AfterLoad { before, others, dispatched, keyed: true })
    }
}
