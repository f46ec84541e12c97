//! One block: each of its records becomes a line or a reject.

use crate::HaulError;
use crate::blocks::records;
use crate::keys::{self, Entry, Known, Place, Seen};
use crate::layout::LayoutFile;
use evenkeel_wire::record::Reject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Reasons that are counted each by itself; what is rarer than so many others is counted together.
const REASONS: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub records: u64,
    /// Lines that were written, by record type.
    pub lines: Vec<u64>,
    pub rejects: u64,
    /// Among them those that came before, byte by byte the same.
    pub duplicates: u64,
    /// Among them those whose key came before with other bytes.
    pub contradictions: u64,
    pub reasons: BTreeMap<String, u64>,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.rejects += other.rejects;
        self.duplicates += other.duplicates;
        self.contradictions += other.contradictions;
        self.lines.resize(self.lines.len().max(other.lines.len()), 0);
        self.lines.iter_mut().zip(&other.lines).for_each(|(sum, count)| *sum += count);
        other.reasons.iter().for_each(|(reason, count)| self.reason(reason, *count));
    }

    pub(crate) fn reason(&mut self, reason: &str, count: u64) {
        let is_new = !self.reasons.contains_key(reason);
        let is_rare = is_new && self.reasons.len() >= REASONS;
        let reason = if is_rare { Self::kind(reason).unwrap_or("other reasons") } else { reason };
        *self.reasons.entry(reason.to_owned()).or_default() += count;
    }

    /// What reasons say in common that differ by a length.
    pub fn kind(reason: &str) -> Option<&'static str> {
        ["too short", "too long"].into_iter().find(|kind| reason.starts_with(*kind))
    }
}

#[derive(Default)]
pub(crate) struct Converted {
    /// Offset behind its last byte.
    pub end: u64,
    pub lines: Vec<Vec<u8>>,
    pub rejects: Vec<u8>,
    /// Offset of the record of each line, by record type; empty unless the [`Context`] asks for them.
    pub places: Vec<Vec<u64>>,
    pub tally: Tally,
    /// Keys of the records that became lines, in their order, where somebody asks for them.
    pub keys: Vec<Entry>,
    /// A key while it is put together.
    pub key: Vec<u8>,
}

impl Converted {
    /// Empties it for another block, and keeps its memory.
    pub fn clear(&mut self, types: usize) {
        self.lines.resize(types, Vec::new());
        self.lines.iter_mut().for_each(Vec::clear);
        self.places.resize(types, Vec::new());
        self.places.iter_mut().for_each(Vec::clear);
        self.rejects.clear();
        self.keys.clear();
        self.tally = Tally { lines: vec![0; types], ..Tally::default() };
    }
}

/// What all blocks of an input have in common.
pub(crate) struct Context<'a> {
    pub file: &'a LayoutFile,
    /// Names of all inputs by their numbers, to name the one where a record was before.
    pub names: &'a [PathBuf],
    /// Number of this input among them.
    pub input: u32,
    pub has_keys: bool,
    /// Whether somebody wants to know where the record of each line lies.
    pub places: bool,
}

struct Repeat {
    offset: u64,
    first: Known,
}

impl Context<'_> {
    /// Converts a block that begins at an offset, as if none of its records had been there before.
    pub fn convert(&self, offset: u64, block: &[u8], into: &mut Converted) {
        self.convert_without(offset, block, &[], into);
    }

    /// Looks for the keys of a block among all that were seen, notes them, and converts it again where one came before: few blocks
    /// have such records, and those that have need their rejects in their order. Without `seen` nobody asks what comes twice.
    pub fn settle(
        &self,
        seen: Option<&mut Seen>,
        offset: u64,
        block: &[u8],
        into: &mut Converted,
    ) -> Result<(), HaulError> {
        let Some(seen) = seen else { return Ok(()) };
        keys::check_end(into.end)?;
        let mut repeats = Vec::new();
        for entry in &into.keys {
            if let Some(first) = seen.see(*entry)? {
                repeats.push(Repeat { offset: entry.place().offset, first });
            }
        }
        if !repeats.is_empty() {
            self.convert_without(offset, block, &repeats, into);
        }
        Ok(())
    }

    /// Converts a block; `repeats` are its records that came before, in their order.
    fn convert_without(&self, offset: u64, block: &[u8], repeats: &[Repeat], into: &mut Converted) {
        let layout = &self.file.layout;
        into.clear(layout.types().len());
        into.end = offset + block.len() as u64;
        let mut repeats = repeats.iter().peekable();
        for (at, record) in records(block, self.file.separator) {
            let place = offset + at as u64;
            into.tally.records += 1;
            if let Some(repeat) = repeats.next_if(|repeat| repeat.offset == place) {
                self.repeat(repeat, record, into);
                continue;
            }
            match self.line(record, &mut into.lines) {
                Ok(index) => {
                    into.tally.lines[index] += 1;
                    if self.places {
                        into.places[index].push(place);
                    }
                    self.note(index, place, record, into);
                }
                Err(reject) => self.reject(place, &reject.explain(layout), record, into),
            }
        }
    }

    /// Notes the key of a record that is a line: one that is not is stored nowhere, so that it makes no other one a duplicate.
    fn note(&self, index: usize, offset: u64, record: &[u8], into: &mut Converted) {
        if self.has_keys {
            let place = Place { input: self.input, offset };
            into.keys.extend(Entry::of(&self.file.layout, index, record, place, &mut into.key));
        }
    }

    /// Makes a line of a record, among those of its type, whose index it says.
    fn line(&self, record: &[u8], lines: &mut [Vec<u8>]) -> Result<usize, Reject> {
        let layout = &self.file.layout;
        match layout.type_of(record) {
            Some(index) => layout.delimit_as(index, record, &mut lines[index]).map(|()| index),
            None => layout.delimit(record, &mut lines[0]),
        }
    }

    fn repeat(&self, repeat: &Repeat, record: &[u8], into: &mut Converted) {
        let Known { place, same } = repeat.first;
        let name = self.names.get(place.input as usize).map_or_else(|| self.path(), PathBuf::as_path);
        let first = format!("{}:{}", name.display(), place.offset);
        let (reason, counted) = match same {
            true => (format!("duplicate of {first}"), "duplicate"),
            false => (format!("same key, other bytes than {first}"), "same key, other bytes"),
        };
        into.tally.duplicates += u64::from(same);
        into.tally.contradictions += u64::from(!same);
        self.refuse(repeat.offset, (&reason, counted), record, into);
    }

    fn reject(&self, place: u64, reason: &str, record: &[u8], into: &mut Converted) {
        self.refuse(place, (reason, reason), record, into);
    }

    fn refuse(&self, place: u64, (reason, counted): (&str, &str), record: &[u8], into: &mut Converted) {
        into.tally.rejects += 1;
        into.tally.reason(counted, 1);
        write_reject((self.path(), place), reason, record, &mut into.rejects);
    }

    pub fn path(&self) -> &Path {
        &self.names[self.input as usize]
    }
}

pub(crate) fn write_reject((path, place): (&Path, u64), reason: &str, record: &[u8], into: &mut Vec<u8>) {
    // A vector takes all that is written to it.
    let _ = write!(into, "{}\t{place}\t{}\t", tidy(&path.to_string_lossy()), tidy(reason));
    escape(record, into);
    into.push(b'\n');
}

/// Without what would end a field or a line of the reject file.
pub(crate) fn tidy(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), "?")
}

/// A record as printable ASCII from which every byte of it can be had again: `\\` and `\x00`.
fn escape(record: &[u8], into: &mut Vec<u8>) {
    for byte in record {
        match byte {
            b'\\' => into.extend_from_slice(b"\\\\"),
            b' '..=b'~' => into.push(*byte),
            _ => {
                let _ = write!(into, "\\x{byte:02x}");
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub step: Step,
    /// Bytes that this step has read, packed as they are.
    pub read: u64,
    /// Bytes of all inputs, where that is known.
    pub total: Option<u64>,
    pub records: u64,
    /// Rows or lines among them.
    pub rows: u64,
    pub rejects: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Records that come twice are looked for.
    Keys,
    /// Rejects are counted.
    Check,
    /// Records become lines.
    #[default]
    Lines,
    /// Records become rows.
    Load,
    Indexes,
    /// Files and tables are summed up.
    Sums,
    Differences,
    Naming,
    Export,
}

impl Progress {
    /// The same after so many more bytes, and what became of their records.
    pub(crate) fn and(self, read: u64, tally: &Tally) -> Self {
        Self {
            read: self.read + read,
            records: self.records + tally.records,
            rows: self.rows + tally.lines.iter().sum::<u64>(),
            rejects: self.rejects + tally.rejects,
            ..self
        }
    }
}
