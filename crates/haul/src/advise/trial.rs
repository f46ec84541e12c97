//! Loads a sample by every way in turn.

use super::crash::{self, Crash};
use super::ground::{Ground, TABLE};
use super::method::{Measured, Method};
use super::plan::Plan;
use super::sample;
use super::scratch::Scratch;
use super::verdict::Spread;
use crate::HaulError;
use crate::load::LoadError;
use crate::table::Engine;
use std::sync::atomic::AtomicU64;

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
fn ways(scratch: &mut Scratch, notes: &mut Vec<String>) -> Result<Vec<Method>, HaulError> {
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
        let most = if engine.has_transactions() { 2 } else { 1 };
        for connections in 1..=most {
            for indexes_after in [false, true] {
                ways.push(Method { engine, indexes_after, connections });
            }
        }
    }
    notes.push("MyISAM and Aria take rows of one connection at a time".to_owned());
    Ok(ways)
}
