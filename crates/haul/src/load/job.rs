//! A load of many files.

use super::files::{self, Ground, Planned};
use super::manifest::{self, KnownFile, Origin};
use super::part::Part;
use super::rejects::Rejects;
use super::sink::Deal;
use super::store::{self, Shared, locked};
use super::turn::Turn;
use super::{LoadError, begun, indexes};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::convert::{
    self, Context, Direction, Duplicates, Lines, Progress, Step, Stretch, Tally, find_repeated, has_keys,
};
use crate::input::{self, Identity, Input, Opened};
use crate::keys::Repeated;
use crate::layout::LayoutFile;
use crate::table::{Engine, Found, Table, literal, quoted};
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use xxhash_rust::xxh3::xxh3_64;

/// When further indexes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// With the table.
    Before,
    /// Once all rows are in.
    After,
}

/// What becomes of a record that the server does not store as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// The load ends; nothing of its part is stored.
    End,
    /// It is a reject.
    Reject,
}

/// How rows are loaded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Connections that send rows at a time.
    pub connections: usize,
    /// All rows in one transaction, without checks of uniqueness and foreign keys: into empty InnoDB tables.
    pub bulk: bool,
    /// When further indexes are made, where the load makes the table.
    pub indexes: Indexes,
    /// Bytes of a file in one transaction.
    pub part_bytes: u64,
    /// What becomes of records with warnings.
    pub warnings: Warnings,
    /// Forget what was loaded into tables that are empty or gone.
    pub again: bool,
}

/// What is to be loaded, and how.
pub struct Job<'a> {
    /// Where the fields are.
    pub file: &'a LayoutFile,
    /// Files.
    pub inputs: Vec<Input>,
    /// The server, with the database of the tables.
    pub target: &'a Target,
    /// Tables by record type; made where they are missing.
    pub tables: Vec<Table>,
    /// The file of what is refused.
    pub rejects: &'a Path,
    /// What becomes of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    /// How.
    pub options: Options,
    /// Bytes of lines that were sent to the server, for who watches; those of a part that is sent again count again.
    pub sent: &'a AtomicU64,
    /// Ends it early; a rerun goes on.
    pub stop: &'a Stop,
}

/// What a load brought.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Loaded {
    /// What became of the records of this load.
    pub tally: Tally,
    /// Each file, in the order in which they were named.
    pub files: Vec<LoadedFile>,
    /// Seconds for statements about the manifest and for reading the files to know them again.
    pub manifest_s: (f64, f64),
    /// What a user should know.
    pub notes: Vec<String>,
}

/// What became of a file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LoadedFile {
    /// The file.
    pub path: PathBuf,
    /// Bytes that were in before, unpacked.
    pub before: u64,
    /// Records that were in before, stored or refused.
    pub records_before: u64,
    /// Rows among them.
    pub rows_before: u64,
    /// Rejects among them.
    pub rejects_before: u64,
    /// What became of the others.
    pub tally: Tally,
}

/// Seconds that a load waits for another one to end: the server takes a moment to notice that one was killed.
const BUSY_S: u32 = 10;

impl Job<'_> {
    /// Loads all that is not in yet.
    ///
    /// # Errors
    /// Anything that cannot be read or stored; what is in stays in, and a rerun goes on.
    pub fn run(mut self, tell: &mut (dyn FnMut(&Progress) + Send)) -> Result<Loaded, HaulError> {
        let mut control = Control::connect_until(self.target, self.stop)?;
        let named = self.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(",");
        self.lock(&mut control, &named)?;
        manifest::create(&mut control)?;
        let (engine, origin) = self.look_at_tables(&mut control)?;
        self.check_options(engine, origin)?;
        let known = self.known(&mut control, &named, origin)?;
        let before = monotonic();
        let looked = files::look(&self.inputs)?;
        let hash_s = (monotonic() - before).as_secs_f64();
        let mut notes = Vec::new();
        let known = match engine.has_transactions() || origin == Origin::Created {
            true => known,
            false => {
                let shortest = self.file.layout.types().iter().map(|each| each.length()).min().unwrap_or(1);
                let told =
                    begun::settle(&mut control, (&self.tables, &named), &known, &looked, shortest as u64)?;
                notes.extend(told);
                manifest::read(&mut control, &named)?
            }
        };
        let origin = self.origin_of_all(&mut control, origin, &known, engine)?;
        let ground = Ground { tables: &named, separator: self.file.separator, layout: self.rules(), origin };
        let planned = files::plan(&mut control, &ground, looked, &known)?;
        self.create_tables(&mut control)?;
        self.inputs = planned.iter().map(|file| file.input.clone()).collect();
        let (tallies, manifest_ns) = match planned.iter().all(|file| file.done) {
            true => (vec![Tally::default(); planned.len()], 0),
            false => self.load(&planned, &named, engine, tell)?,
        };
        if !engine.has_transactions() {
            for file in &planned {
                control.exec(&format!(
                    "UPDATE {} SET state = 'done' WHERE id = {}",
                    manifest::FILES,
                    file.id
                ))?;
            }
        }
        if origin == Origin::Created {
            for table in &self.tables {
                if let Some(sql) = indexes::missing(&mut control, table)? {
                    tell(&Progress { step: Step::Indexes, ..Progress::default() });
                    control.exec(&sql)?;
                }
            }
        }
        let manifest_s = (manifest_ns as f64 / 1e9, hash_s);
        Ok(loaded(&planned, tallies, manifest_s, notes))
    }

    fn lock(&self, control: &mut Control, named: &str) -> Result<(), HaulError> {
        let database = self.target.database.clone().unwrap_or_default();
        let name = format!("evenkeel-load-{:016x}", xxh3_64(format!("{database}.{named}").as_bytes()));
        let got = control.query_value(&format!("SELECT GET_LOCK({}, {BUSY_S})", literal(name.as_bytes())))?;
        match got.as_deref() {
            Some("1") => Ok(()),
            _ => Err(LoadError::Busy(named.to_owned()).into()),
        }
    }

    /// The engine of the tables, and what they were before this load.
    fn look_at_tables(&mut self, control: &mut Control) -> Result<(Engine, Origin), HaulError> {
        let mut origin = Origin::Created;
        let mut engines = Vec::new();
        for table in &mut self.tables {
            let Some(found) = Found::read(control, &table.name)? else {
                engines.push(table.engine);
                continue;
            };
            table.engine = found.check(table)?;
            engines.push(table.engine);
            let row = control.query_value(&format!("SELECT 1 FROM {} LIMIT 1", quoted(&table.name)))?;
            origin = origin.max(if row.is_some() { Origin::Filled } else { Origin::Empty });
        }
        match &engines[..] {
            [first, rest @ ..] if rest.iter().all(|each| each == first) => Ok((*first, origin)),
            _ => Err(LoadError::Cannot("the tables of one load have several engines".to_owned()).into()),
        }
    }

    fn check_options(&self, engine: Engine, origin: Origin) -> Result<(), HaulError> {
        let Options { connections, bulk, warnings, .. } = self.options;
        let cannot = |text: &str| Err(LoadError::Cannot(text.to_owned()).into());
        let name = engine.name();
        match (engine.has_transactions(), bulk) {
            (false, true) => cannot(&format!("--bulk is InnoDB's, and the table is {name}")),
            (_, true) if origin == Origin::Filled => {
                cannot("--bulk needs an empty table, and this one has rows")
            }
            (_, true) if connections > 1 => {
                cannot("--bulk is one transaction, which --connections cannot share")
            }
            (_, true) if warnings == Warnings::Reject => {
                cannot("--bulk is one transaction, of which --warnings reject cannot take records back")
            }
            (false, _) if connections > 1 => cannot(&format!(
                "a {name} table takes rows of one connection at a time, and --connections asks for more"
            )),
            (false, _) if warnings == Warnings::Reject => cannot(&format!(
                "{name} has no transactions, so that --warnings reject cannot take records back"
            )),
            _ => Ok(()),
        }
    }

    /// What the manifest says, which is held against what is there.
    fn known(&self, control: &mut Control, named: &str, origin: Origin) -> Result<Vec<KnownFile>, HaulError> {
        let known = manifest::read(control, named)?;
        let rows: u64 = known.iter().map(|file| file.rows).sum();
        match origin {
            Origin::Filled => Ok(known),
            _ if self.options.again => {
                manifest::forget(control, &known, true)?;
                Ok(Vec::new())
            }
            _ if rows > 0 => Err(LoadError::Gone { table: named.to_owned(), rows }.into()),
            _ => Ok(known),
        }
    }

    /// What the tables were before the first load of which the manifest tells: where they are empty because nothing has been
    /// committed yet, they still were made by it. Where there is no transaction to tell rows apart, rows of others are looked for.
    fn origin_of_all(
        &self,
        control: &mut Control,
        now: Origin,
        known: &[KnownFile],
        engine: Engine,
    ) -> Result<Origin, HaulError> {
        let Some(first) = known.iter().map(|file| file.origin).max() else { return Ok(now) };
        if !engine.has_transactions() && now == Origin::Filled {
            let ours: u64 = known.iter().map(|file| file.rows).sum();
            if begun::count(control, &self.tables)? != ours {
                return Ok(Origin::Filled);
            }
        }
        Ok(first)
    }

    fn create_tables(&self, control: &mut Control) -> Result<(), HaulError> {
        for table in &self.tables {
            if Found::read(control, &table.name)?.is_none() {
                let sql = match self.options.indexes {
                    Indexes::Before => table.create_sql(),
                    Indexes::After => table.create_bare_sql(),
                };
                control.exec(&sql)?;
            }
        }
        Ok(())
    }

    /// What decides what becomes of a record, as a number.
    fn rules(&self) -> u64 {
        let LayoutFile { layout, separator, text } = self.file;
        let refuses = self.duplicates == Duplicates::Refuse;
        xxh3_64(format!("{refuses} {:?} {separator:?} {text}", layout.is_ragged()).as_bytes())
    }

    /// What became of the records of each file, and the time that went into the manifest.
    fn load(
        &self,
        planned: &[Planned],
        named: &str,
        engine: Engine,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<(Vec<Tally>, u64), HaulError> {
        // Places under a lower number come first: what is in stays in, whatever is loaded now.
        let inputs: Vec<Input> = self.inputs.iter().chain(&self.inputs).cloned().collect();
        let repeated = self.repeated(planned, tell)?;
        let shared = Shared {
            tables: &self.tables,
            named,
            engine,
            options: self.options,
            inputs: &self.inputs,
            separator: self.file.separator,
            turn: Turn::default(),
            rejects: Mutex::new(Rejects::open(self.rejects, planned)?),
            stored: Mutex::new(vec![Tally::default(); planned.len()]),
            failed: Mutex::new(None),
            sent: self.sent,
            manifest_ns: AtomicU64::new(0),
        };
        let mut controls = Vec::new();
        for _ in 0..self.options.connections.max(1) {
            let mut control = Control::connect_until(self.target, self.stop)?;
            store::prepare(&mut control, &self.options)?;
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
            let read = self.read(planned, &inputs, repeated.as_ref(), shared, &sender, tell);
            if read.is_err() {
                shared.turn.end();
            }
            drop(sender);
            read
        });
        let failed = locked(&shared.failed).take();
        failed.map_or(read, Err)?;
        let stored = std::mem::take(&mut *locked(&shared.stored));
        Ok((stored, shared.manifest_ns.load(Ordering::Relaxed)))
    }

    /// Has all files become parts.
    fn read(
        &self,
        planned: &[Planned],
        inputs: &[Input],
        repeated: Option<&Repeated>,
        shared: &Shared<'_>,
        sender: &SyncSender<Part>,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<(), HaulError> {
        let total = Some(planned.iter().filter(|file| !file.done).map(|file| file.identity.size).sum());
        let (mut number, mut before) = (0, 0);
        for (index, file) in planned.iter().enumerate().filter(|(_, file)| !file.done) {
            let path = file.input.path();
            let Opened { stream, read, identity, .. } = input::open(&file.input, file.begin)?;
            if identity != Some(file.identity) {
                return Err(changed(file, file.begin));
            }
            let mut told = || {
                let tally = sum(&locked(&shared.stored));
                let read = before + read.load(Ordering::Relaxed);
                tell(&Progress { step: Step::Load, read, total, tally });
            };
            let (begin, limit) = (file.begin, self.options.part_bytes);
            let part = Part { input: index, file: file.id, begin, end: begin, ..Part::default() };
            let mut deal = Deal { part, number: &mut number, sender, limit, path, tell: &mut told };
            let context = Context {
                file: self.file,
                direction: Direction::Delimit,
                inputs,
                input: (planned.len() + index) as u32,
                places: true,
            };
            let stream = bounded(stream, file);
            let blocks = Blocks::new(stream, self.file.separator, file.begin);
            convert::run(blocks, path, &Lines { context, repeated }, &mut deal, self.stop)?;
            // What grew or was replaced meanwhile is not done; its last record may be half of one.
            if Identity::of(path) != Some(file.identity) {
                return Err(changed(file, deal.part.begin));
            }
            deal.send(true)?;
            before += file.identity.size;
        }
        Ok(())
    }

    /// Which records came before; `None` where nobody asks.
    fn repeated(
        &self,
        planned: &[Planned],
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Option<Repeated>, HaulError> {
        if self.duplicates == Duplicates::Keep || !has_keys(self.file) {
            return Ok(None);
        }
        let of = |index: usize, file: &'_ Planned, later: bool| {
            let number = (index + if later { planned.len() } else { 0 }) as u32;
            (number, if later { file.begin..u64::MAX } else { 0..file.begin })
        };
        let mut stretches = Vec::new();
        for later in [false, true] {
            for (index, file) in planned.iter().enumerate() {
                let (number, bytes) = of(index, file, later);
                if !bytes.is_empty() && !(later && file.done) {
                    stretches.push(Stretch { number, input: &file.input, bytes });
                }
            }
        }
        let home =
            self.rejects.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let total = Some(planned.iter().map(|file| file.identity.size).sum());
        let progress = Progress { step: Step::Keys, total, ..Progress::default() };
        find_repeated((self.file, home), &stretches, self.stop, progress, tell).map(Some)
    }
}

/// No further than the file was when it was looked at; of a packed one the end is within it.
fn bounded(stream: Box<dyn Read + Send>, file: &Planned) -> Box<dyn Read + Send> {
    let Input::File(path) = &file.input else { return stream };
    match input::is_packed(path) {
        true => stream,
        false => Box::new(stream.take(file.identity.size.saturating_sub(file.begin))),
    }
}

fn changed(file: &Planned, at: u64) -> HaulError {
    let what = "its size, time or number is another one; what was stored before stays, run again once nobody writes to it";
    HaulError::Changed { path: file.input.path().to_owned(), at, what }
}

fn sum(tallies: &[Tally]) -> Tally {
    let mut sum = Tally::default();
    tallies.iter().for_each(|tally| sum.add(tally));
    sum
}

fn loaded(planned: &[Planned], tallies: Vec<Tally>, manifest_s: (f64, f64), notes: Vec<String>) -> Loaded {
    let tally = sum(&tallies);
    let of = |(file, tally): (&Planned, Tally)| LoadedFile {
        path: file.input.path().to_owned(),
        before: file.begin,
        records_before: file.records,
        rows_before: file.rows,
        rejects_before: file.rejects,
        tally,
    };
    let files = planned.iter().zip(tallies).map(of).collect();
    Loaded { tally, files, manifest_s, notes }
}
