//! Loads a sample by every way in turn.

use super::crash::{self, Crash};
use super::sample;
use super::scratch::Scratch;
use super::verdict::Spread;
use crate::HaulError;
use crate::convert::Duplicates;
use crate::input::Input;
use crate::layout::LayoutFile;
use crate::load::{Indexes, Job, LoadError, Options, Warnings};
use crate::table::{Engine, Table};
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Target;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// A way of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Way {
    /// Where rows are stored.
    pub engine: Engine,
    /// In one transaction without checks.
    pub bulk: bool,
    /// Whether further indexes are made once the rows are in.
    pub indexes_after: bool,
    /// Connections that send rows.
    pub connections: usize,
}

/// What is measured.
pub struct Plan<'a> {
    /// Where the fields are.
    pub file: &'a LayoutFile,
    /// Files that the sample is taken from.
    pub inputs: &'a [Input],
    /// The server; the database is not used.
    pub target: &'a Target,
    /// Columns of each further index.
    pub indexes: Vec<Vec<String>>,
    /// Records of the sample at most.
    pub sample: u64,
    /// Rounds, each with every way.
    pub rounds: u32,
    /// What becomes of records that come twice.
    pub duplicates: Duplicates,
    /// Ends it early.
    pub stop: &'a Stop,
}

/// One way, measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Measured {
    /// The way.
    pub way: Way,
    /// Seconds of a load.
    pub seconds: Spread,
    /// Bytes of the table with its indexes, per row.
    pub bytes_per_row: f64,
    /// Whether it cannot be told from the fastest: their spreads overlap.
    pub like_fastest: bool,
}

/// What was measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Advice {
    /// Records of the sample.
    pub records: u64,
    /// Those of them that became rows.
    pub rows: u64,
    /// All ways, the fastest first.
    pub ways: Vec<Measured>,
    /// What a load costs that is cut in the middle.
    pub crashes: Vec<Crash>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// A sample and where it is loaded to.
pub(super) struct Ground<'a> {
    pub plan: &'a Plan<'a>,
    /// The server with the database of the trials.
    pub target: Target,
    pub home: PathBuf,
    pub bytes: u64,
}

/// Table of the trials.
pub(super) const TABLE: &str = "sample";

/// Measures; `tell` gets what is done now.
///
/// # Errors
/// The server refuses, or records do not fit; the database of the trials is dropped in any case.
pub fn advise(plan: &Plan<'_>, tell: &mut dyn FnMut(String)) -> Result<Advice, HaulError> {
    if plan.file.layout.types().len() > 1 {
        let text = "the layout has several types of records, and a trial has one table";
        return Err(LoadError::Cannot(text.to_owned()).into());
    }
    let home =
        tempfile::tempdir().map_err(HaulError::io("create", std::path::Path::new("a temporary folder")))?;
    let path = home.path().join("sample");
    let records = sample::write(plan.file, plan.inputs, plan.sample, &path)?;
    let bytes = path.metadata().map_err(HaulError::io("read", &path))?.len();
    let mut scratch = Scratch::make(plan.target, plan.stop)?;
    let ground = Ground { plan, target: scratch.target.clone(), home: home.path().to_owned(), bytes };
    let mut notes = Vec::new();
    let ways = ways(&mut scratch, &mut notes)?;
    let mut seconds = vec![Vec::new(); ways.len()];
    let (mut sizes, mut rows) = (vec![0.0; ways.len()], 0);
    for round in 0..plan.rounds as usize {
        for place in 0..ways.len() {
            // Each round begins with another way.
            let index = (place + round) % ways.len();
            let way = ways[index];
            tell(format!("round {} of {}: {way}", round + 1, plan.rounds));
            scratch.clear(TABLE)?;
            let (took, stored) = ground.load(way, 32 << 20, &AtomicU64::new(0))?;
            seconds[index].push(took);
            rows = stored;
            sizes[index] = scratch.bytes(TABLE)? as f64 / stored.max(1) as f64;
        }
    }
    let mut measured = Vec::new();
    for ((way, seconds), bytes_per_row) in ways.iter().zip(seconds).zip(sizes) {
        let seconds = Spread::of(seconds);
        measured.push(Measured { way: *way, seconds, bytes_per_row, like_fastest: false });
    }
    measured.sort_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median));
    if let Some(fastest) = measured.first().map(|first| first.seconds.clone()) {
        measured.iter_mut().for_each(|each| each.like_fastest = each.seconds.overlaps(&fastest));
    }
    let crashes = crash::try_all(&ground, &mut scratch, &measured, tell)?;
    Ok(Advice { records, rows, ways: measured, crashes, notes })
}

/// All ways that there are at this server.
fn ways(scratch: &mut Scratch, notes: &mut Vec<String>) -> Result<Vec<Way>, HaulError> {
    let there = scratch.control.query("SHOW ENGINES")?;
    let mut ways = Vec::new();
    for engine in [Engine::InnoDb, Engine::MyIsam, Engine::Aria] {
        let is_it = |row: &Vec<Option<String>>| {
            row.first().and_then(Option::as_deref).is_some_and(|name| Engine::of(name) == Some(engine))
        };
        if !there.rows.iter().any(is_it) {
            notes.push(format!("the server has no {}", engine.name()));
            continue;
        }
        let modes: &[(bool, usize)] = match engine {
            Engine::InnoDb => &[(false, 1), (false, 2), (true, 1)],
            Engine::MyIsam | Engine::Aria => &[(false, 1)],
        };
        for (bulk, connections) in modes {
            for indexes_after in [false, true] {
                ways.push(Way { engine, bulk: *bulk, indexes_after, connections: *connections });
            }
        }
    }
    notes.push("bulk mode is one transaction of one connection; MyISAM and Aria take rows of one connection at a time".to_owned());
    Ok(ways)
}

impl Ground<'_> {
    /// Loads what is not in yet: seconds and rows.
    pub fn load(&self, way: Way, part_bytes: u64, sent: &AtomicU64) -> Result<(f64, u64), HaulError> {
        let before = monotonic();
        let loaded = self.job(way, part_bytes, sent)?.run(&mut |_| {})?;
        let took = (monotonic() - before).as_secs_f64();
        Ok((took, loaded.tally.lines.iter().sum()))
    }

    fn job<'a>(&'a self, way: Way, part_bytes: u64, sent: &'a AtomicU64) -> Result<OwnedJob<'a>, HaulError> {
        let Plan { file, indexes, duplicates, stop, .. } = self.plan;
        let table = Table::of(&file.layout, 0, TABLE, way.engine, indexes)?;
        let options = Options {
            connections: way.connections,
            bulk: way.bulk,
            indexes: if way.indexes_after { Indexes::After } else { Indexes::Before },
            // Two connections have to have something to do at a time.
            part_bytes: part_bytes.min(self.bytes / (2 * way.connections as u64) + 1),
            warnings: Warnings::End,
            again: false,
        };
        let rejects = self.home.join("rejects");
        let inputs = vec![Input::File(self.home.join("sample"))];
        Ok(OwnedJob { rejects, inputs, table, options, duplicates: *duplicates, ground: self, sent, stop })
    }
}

/// A job with what it borrows.
struct OwnedJob<'a> {
    rejects: PathBuf,
    inputs: Vec<Input>,
    table: Table,
    options: Options,
    duplicates: Duplicates,
    ground: &'a Ground<'a>,
    sent: &'a AtomicU64,
    stop: &'a Stop,
}

impl OwnedJob<'_> {
    fn run(
        self,
        tell: &mut (dyn FnMut(&crate::convert::Progress) + Send),
    ) -> Result<crate::load::Loaded, HaulError> {
        let job = Job {
            file: self.ground.plan.file,
            inputs: self.inputs,
            target: &self.ground.target,
            tables: vec![self.table],
            rejects: &self.rejects,
            duplicates: self.duplicates,
            options: self.options,
            sent: self.sent,
            stop: self.stop,
        };
        job.run(tell)
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { engine, bulk, indexes_after, connections } = self;
        let mode = if *bulk { " in bulk" } else { "" };
        let order = if *indexes_after { "after" } else { "before" };
        write!(
            f,
            "{}{mode}, indexes {order}, {connections} connection{}",
            engine.name(),
            if *connections == 1 { "" } else { "s" }
        )
    }
}
