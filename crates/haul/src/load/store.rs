//! One connection: stores parts, each as a whole or not at all.

use super::part::{Part, split};
use super::rejects::{Rejects, Turn, Waited};
use super::warnings::Warning;
use super::{corrections, manifest, warnings};
use crate::blocks::Separator;
use crate::convert::{Tally, write_reject};
use crate::input::Counted;
use crate::table::{Engine, Table};
use crate::{HaulError, input, locked, refused};
use evenkeel_site::server::{Control, TargetError};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Receiver;

/// ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK: the part can be sent again.
const HELD_UP: [u16; 2] = [1205, 1213];
/// What a record alone can cause, also by a trigger: no NULL, its key, its range, its width, a foreign key, a SIGNAL.
const BY_RECORD: [u16; 6] = [1048, 1062, 1264, 1406, 1452, 1644];
const ATTEMPTS: u32 = 6;
/// Seconds that a part waits for the locks of others.
const LOCK_WAIT_S: u32 = 10;
/// Bytes of the longest record that a reject shows.
const LONGEST: u64 = 64 << 10;

/// What all connections of a load have in common.
pub(super) struct Shared<'a> {
    pub tables: &'a [Table],
    pub named: &'a str,
    pub engine: Engine,
    pub options: Options,
    pub inputs: &'a [PathBuf],
    pub separator: Separator,
    pub turn: Turn,
    pub rejects: Mutex<Rejects>,
    /// What became of the records of this load, by number of the input, as far as they are stored.
    pub stored: Mutex<Vec<Tally>>,
    pub failed: Mutex<Option<HaulError>>,
    /// Parts that are stored, whose memory is filled again.
    pub spare: Mutex<Vec<Part>>,
    pub sent: &'a AtomicU64,
}

enum Attempt {
    Stored,
    GaveWay,
    /// Rows of the type with this index that the server changed or left out.
    Warned(usize, Vec<Warning>),
}

/// Settings of the session that rows are loaded in, where what does not fit is a warning.
pub(super) fn prepare(control: &mut Control) -> Result<(), HaulError> {
    control.exec(&format!(
        "SET SESSION time_zone = '+00:00', sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', max_error_count = {}, sql_notes = 1, \
         innodb_lock_wait_timeout = {LOCK_WAIT_S}",
        warnings::KEPT
    ))?;
    Ok(())
}

impl Shared<'_> {
    pub fn serve(&self, mut control: Control, parts: &Mutex<Receiver<Part>>) {
        loop {
            let part = locked(parts).recv();
            let Ok(mut part) = part else { return };
            if self.turn.is_over() {
                return;
            }
            if let Err(error) = self.store(&mut control, &mut part) {
                locked(&self.failed).get_or_insert(error);
                return self.turn.end();
            }
            locked(&self.spare).push(part.emptied());
        }
    }

    /// Stores the one part that there is; what came of its records.
    pub fn store_one(&self, control: &mut Control, mut part: Part) -> Result<Tally, HaulError> {
        self.store(control, &mut part)?;
        Ok(part.tally)
    }

    fn store(&self, control: &mut Control, part: &mut Part) -> Result<(), HaulError> {
        let mut held_up = 0;
        loop {
            let attempt = match self.engine.has_transactions() {
                true => self.transaction(control, part),
                false => self.statements(control, part),
            };
            match attempt {
                Ok(Attempt::Stored) => return Ok(()),
                Ok(Attempt::GaveWay) => {
                    control.exec("ROLLBACK")?;
                    if self.turn.wait(part.number, false) == Waited::Over {
                        return Ok(());
                    }
                }
                Ok(Attempt::Warned(index, found)) => self.warned(control, part, index, found)?,
                Err(HaulError::Server(error))
                    if error.code().is_some_and(|code| HELD_UP.contains(&code)) && held_up < ATTEMPTS =>
                {
                    held_up += 1;
                    control.exec("ROLLBACK")?;
                    if !self.turn.hold_up(part.number) && self.turn.wait(part.number, false) == Waited::Over {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn transaction(&self, control: &mut Control, part: &Part) -> Result<Attempt, HaulError> {
        control.exec("BEGIN")?;
        self.claim(control, part)?;
        if let Some(warned) = self.send(control, part)? {
            return Ok(warned);
        }
        match self.turn.wait(part.number, true) {
            Waited::Mine => {}
            Waited::GiveWay | Waited::Over => return Ok(Attempt::GaveWay),
        }
        self.close(control, part, part.is_last)?;
        control.exec("COMMIT")?;
        self.pass(part);
        Ok(Attempt::Stored)
    }

    /// The same where nothing can be taken back. That the files are done is told when all of them are.
    fn statements(&self, control: &mut Control, part: &Part) -> Result<Attempt, HaulError> {
        if let Some(warned) = self.send(control, part)? {
            return Ok(warned);
        }
        self.claim(control, part)?;
        self.close(control, part, false)?;
        self.pass(part);
        Ok(Attempt::Stored)
    }

    /// The rejects go to disk before anything says that their part is in.
    fn close(&self, control: &mut Control, part: &Part, is_last: bool) -> Result<(), HaulError> {
        corrections::write(control, part)?;
        locked(&self.rejects).add(&part.rejects)?;
        Ok(manifest::tell(control, (part.file, part.begin), &part.tally, is_last)?)
    }

    /// A part without bytes says no more than that its file ends.
    fn claim(&self, control: &mut Control, part: &Part) -> Result<(), HaulError> {
        match part.begin < part.end {
            true => Ok(manifest::claim(control, part.file, (part.begin, part.end))?),
            false => Ok(()),
        }
    }

    fn pass(&self, part: &Part) {
        locked(&self.stored)[part.input].add(&part.tally);
        self.turn.pass();
    }

    fn send(&self, control: &mut Control, part: &Part) -> Result<Option<Attempt>, HaulError> {
        for (index, table) in self.tables.iter().enumerate() {
            let Some(lines) = part.lines.get(index).filter(|lines| !lines.is_empty()) else { continue };
            let (stored, found) = self.load(control, table, lines)?;
            if !found.is_empty() {
                return Ok(Some(Attempt::Warned(index, found)));
            }
            let sent = part.tally.lines[index];
            if stored != sent {
                let (path, begin, end) = (self.path(part).display(), part.begin, part.end);
                return Err(HaulError::File(refused(
                    format!(
                        "{path}, bytes {begin}..{end}: {sent} rows were sent and {stored} stored, and the server does not say why"
                    ),
                    "see whether a trigger or another client removes rows of the table",
                )));
            }
        }
        Ok(None)
    }

    /// Sends lines; the rows that were stored, and what the server says against any.
    fn load(
        &self,
        control: &mut Control,
        table: &Table,
        lines: &[u8],
    ) -> Result<(u64, Vec<Warning>), HaulError> {
        let stream = Counted { stream: lines, read: self.sent };
        match control.load_data_local(&table.load_sql(), stream) {
            Ok(stored) if control.warnings() == 0 => Ok((stored, Vec::new())),
            Ok(stored) => Ok((stored, warnings::read(control, table)?)),
            Err(TargetError::Statement { code, message, .. }) if BY_RECORD.contains(&code) => {
                Ok((0, vec![Warning { row: None, code, text: warnings::text(code, &message, table) }]))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The rows that the server speaks against without saying which they are, by sending ever smaller halves; the first one, or all.
    fn sift(
        &self,
        control: &mut Control,
        part: &Part,
        index: usize,
        all: bool,
    ) -> Result<Vec<Warning>, HaulError> {
        let lines: Vec<&[u8]> = split(&part.lines[index]).collect();
        let (mut bad, mut left) = (Vec::new(), std::iter::once(0..lines.len()).collect::<Vec<_>>());
        control.exec("ROLLBACK")?;
        control.exec("BEGIN")?;
        // A foreign key may refer to the rows of another type.
        for (table, lines) in self.tables.iter().zip(&part.lines).take(index) {
            self.load(control, table, lines)?;
        }
        while let Some(range) = left.pop().filter(|_| all || bad.is_empty()) {
            control.exec("SAVEPOINT evenkeel")?;
            let (_, found) = self.load(control, &self.tables[index], &lines[range.clone()].concat())?;
            let Some(warning) = found.into_iter().next() else { continue };
            control.exec("ROLLBACK TO SAVEPOINT evenkeel")?;
            match range.len() {
                1 => bad.push(Warning { row: Some(range.start), ..warning }),
                length => {
                    let middle = range.start + length / 2;
                    left.extend([middle..range.end, range.start..middle]);
                }
            }
        }
        control.exec("ROLLBACK")?;
        Ok(bad)
    }

    /// Takes back what was sent, and makes rejects of what the server did not store as it was.
    fn warned(
        &self,
        control: &mut Control,
        part: &mut Part,
        index: usize,
        mut found: Vec<Warning>,
    ) -> Result<(), HaulError> {
        let is_asked = self.options.warnings == Warnings::Reject && self.engine.has_transactions();
        if self.engine.has_transactions() && found.iter().all(|warning| warning.row.is_none()) {
            let sifted = self.sift(control, part, index, is_asked)?;
            found = if sifted.is_empty() { found } else { sifted };
        }
        let place = |row: usize| part.places[index].get(row).copied();
        let mut reasons = BTreeMap::new();
        for warning in &found {
            if let Some(row) = warning.row.filter(|row| place(*row).is_some()) {
                reasons.entry(row).or_insert_with(|| warning.text.clone());
            }
        }
        if !is_asked || reasons.is_empty() || warnings::has_check(&found) {
            let offset = found.first().and_then(|first| place(first.row?));
            return Err(self.warning_error(part, &found, offset));
        }
        control.exec("ROLLBACK")?;
        self.refuse(part, index, &reasons)
    }

    fn refuse(
        &self,
        part: &mut Part,
        index: usize,
        reasons: &BTreeMap<usize, String>,
    ) -> Result<(), HaulError> {
        let rows: Vec<usize> = reasons.keys().copied().collect();
        let places = part.take_out(index, &rows);
        let records = records_at(&self.inputs[part.input], &places, self.separator)?;
        for ((place, record), reason) in places.iter().zip(records).zip(reasons.values()) {
            write_reject((self.path(part), *place), reason, &record, &mut part.rejects);
            part.tally.rejects += 1;
            part.tally.reason(reason, 1);
        }
        Ok(())
    }

    fn warning_error(&self, part: &Part, found: &[Warning], offset: Option<u64>) -> HaulError {
        let at = offset.map(|at| format!(":{at}")).unwrap_or_default();
        let what = found.first().map_or("the server warns", |first| first.text.as_str());
        let (begin, end, count, tables) = (part.begin, part.end, found.len(), self.named);
        let what = format!("{}{at}: {what}", self.path(part).display());
        HaulError::File(match self.engine.has_transactions() {
            true => refused(
                format!("{what} ({count} in bytes {begin}..{end}, which are not stored)"),
                match found.first().map(|first| first.code) {
                    Some(1062) => {
                        "--warnings reject makes rejects of such records; or see whether the layout's key names a record"
                    }
                    Some(1452) => {
                        "load the rows first that the foreign key refers to, or take --warnings reject"
                    }
                    Some(4025 | 3819) => "correct the records, or drop the CHECK",
                    Some(1644) => {
                        "a trigger of the table refuses it by SIGNAL: correct the records or the trigger"
                    }
                    _ => "alter the column, correct the layout, or take --warnings reject",
                },
            ),
            false => refused(
                format!(
                    "{what}; {tables} cannot take that back, so that the next load empties it and begins again"
                ),
                "alter the column or correct the layout, and load again; InnoDB can refuse single records",
            ),
        })
    }

    fn path(&self, part: &Part) -> &Path {
        &self.inputs[part.input]
    }
}

/// The records at these offsets, which ascend, from the file once more.
fn records_at(input: &Path, places: &[u64], separator: Separator) -> Result<Vec<Vec<u8>>, HaulError> {
    let failed = || HaulError::io("read", input);
    let Some(first) = places.first() else { return Ok(Vec::new()) };
    let (mut stream, mut at) = (BufReader::new(input::open(input, *first)?.stream), *first);
    let mut records = Vec::new();
    for place in places {
        let passed = std::io::copy(&mut stream.by_ref().take(place - at), &mut std::io::sink());
        at += passed.map_err(failed())?;
        let mut record = Vec::new();
        let read = match separator {
            Separator::Line => stream.by_ref().take(LONGEST + 2).read_until(b'\n', &mut record),
            Separator::Length(length) => stream.by_ref().take(length as u64).read_to_end(&mut record),
            Separator::Delimited { dialect, .. } => loop {
                match stream.by_ref().take(LONGEST + 2).read_until(b'\n', &mut record) {
                    Ok(1..) if dialect.record_end(&record).is_none() && record.len() < LONGEST as usize => {}
                    Ok(_) => break Ok(record.len()),
                    Err(error) => break Err(error),
                }
            },
        };
        at += read.map_err(failed())? as u64;
        if !matches!(separator, Separator::Length(_)) {
            record.pop_if(|last| *last == b'\n');
            record.pop_if(|last| *last == b'\r');
        }
        records.push(record);
    }
    Ok(records)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// The load ends; nothing of its part is stored.
    End,
    Reject,
}

/// How many records of a file may be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxRejects {
    Count(u64),
    /// Of all records, from 0 to 1.
    Share(f64),
}

impl MaxRejects {
    pub fn is_passed(self, tally: &Tally) -> bool {
        match self {
            Self::Count(most) => tally.rejects > most,
            Self::Share(most) => tally.rejects as f64 > most * tally.records as f64,
        }
    }
}

impl std::fmt::Display for MaxRejects {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(most) => write!(out, "{most}"),
            Self::Share(most) => write!(out, "{}%", 100.0 * most),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub connections: usize,
    pub indexes: Indexes,
    pub part_bytes: u64,
    pub warnings: Warnings,
    pub again: bool,
    pub max_rejects: MaxRejects,
    /// Whether an audit is to follow.
    pub audited: bool,
}
