//! The side of the files: what is to become of each record.

use super::sums::{Entry, Of, Wanted};
use super::tables::{Canon, Hashes, Scratch, Tables};
use crate::blocks::{Blocks, records};
use crate::convert::pool;
use crate::convert::pool::{Sink, Work};
use crate::dispatch::Day;
use crate::input::Identity;
use crate::keys::{Place, Seen};
use crate::layout::LayoutFile;
use crate::load::{Correction, Corrections};
use crate::{HaulError, input, keys};
use evenkeel_os::Stop;
use evenkeel_wire::record::Layout;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) struct Records<'a> {
    pub file: &'a LayoutFile,
    pub record_type: usize,
    pub inputs: &'a [PathBuf],
    /// What the inputs were when the audit began.
    pub identities: Vec<Option<Identity>>,
    /// What came of rejects of each input, in its order.
    pub corrected: &'a [Corrections],
    pub canon: &'a Canon,
    pub tables: &'a Tables,
    /// Whether records that come twice are refused.
    pub has_keys: bool,
    /// Whether a line of the rejects names its file by the whole path; otherwise the last part of it is enough.
    pub names_exactly: bool,
    pub stop: &'a Stop,
}

#[derive(Default)]
pub(crate) struct Noted {
    pub entries: Vec<Entry>,
    /// Records of types that nobody looks at.
    pub other_types: u64,
    /// Keys of the records that fit, each with the number of its entry; `None` where nobody wants that.
    keys: Vec<(keys::Entry, Option<usize>)>,
    key: Vec<u8>,
    line: Vec<u8>,
    scratch: Scratch,
}

impl Noted {
    /// Notes which records have a key that came before.
    pub fn settle(&mut self, seen: &mut Seen) -> Result<(), HaulError> {
        for (key, number) in &self.keys {
            if seen.see(*key)?.is_some()
                && let Some(number) = number
            {
                self.entries[*number].of = Of::Repeat;
            }
        }
        Ok(())
    }
}

/// Takes what was noted, of one input after the other.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(&Noted) -> Result<(), HaulError> + Send);

impl Records<'_> {
    /// Reads all inputs; `read` counts the bytes. Ends early where the other side `failed`.
    pub fn read(
        &self,
        wanted: Option<&Wanted>,
        failed: &AtomicBool,
        read: &AtomicU64,
        take: Take<'_>,
    ) -> Result<(), HaulError> {
        let mut seen = self.has_keys.then(Seen::default);
        for (number, (input, identity)) in (0_u32..).zip(self.inputs.iter().zip(&self.identities)) {
            let opened = input::open(input, 0)?;
            if opened.identity != *identity {
                return Err(input::changed(input, 0));
            }
            let before = read.load(Ordering::Relaxed);
            let (seen, opened_read) = (seen.as_mut(), Arc::clone(&opened.read));
            let mut sink = Taken { take: &mut *take, seen, read, before, opened: opened_read };
            let blocks = Blocks::new(opened.stream, self.file.separator, 0);
            let work = Noting { of: self, number, wanted, failed };
            pool::run(blocks, input, &work, &mut sink, self.stop)?;
            read.store(before + opened.read.load(Ordering::Relaxed), Ordering::Relaxed);
            if Identity::of(input) != *identity {
                return Err(input::changed(input, 0));
            }
        }
        Ok(())
    }

    /// What is noted of a record that stands at a place; `None` where it is of another type.
    fn note(&self, record: &[u8], place: u64, line: &mut Vec<u8>, scratch: &mut Scratch) -> Option<Entry> {
        let layout = &self.file.layout;
        line.clear();
        let (of, group, row, retired) = match layout.delimit(record, line) {
            Ok(index) if index != self.record_type => return None,
            Ok(_) => {
                let hashes = self.canon.line(line, scratch);
                (Of::Line, hashes.group, hashes.row, self.retired(record).unwrap_or(0))
            }
            Err(_) => (Of::Unfit, self.unfit(layout, record, place, scratch)?, 0, 0),
        };
        Some(Entry { group, of, row, record: xxh3_64(record), place, retired })
    }

    /// The same of a line of a rejects file.
    pub fn note_listed(&self, record: &[u8], place: Place, of: Of, noted: &mut Noted) -> Option<Entry> {
        let correction = self.correction(place);
        if correction.is_some_and(|correction| correction.stored.is_some()) {
            return None;
        }
        let record = correction.map_or(record, |correction| &correction.record);
        let entry = self.note(record, place.packed(), &mut noted.line, &mut noted.scratch)?;
        Some(Entry { of, row: 0, ..entry })
    }

    /// What came of the record of a place, where it was a reject that was corrected.
    pub fn correction(&self, place: Place) -> Option<&Correction> {
        self.corrected.get(place.input as usize)?.get(&place.offset)
    }

    /// What is noted of a reject that is stored; `None` where it is of another type.
    fn note_stored(&self, correction: &Correction, place: u64, scratch: &mut Scratch) -> Option<Entry> {
        let (_, line) = correction.stored.as_ref().filter(|(of, _)| *of == self.record_type)?;
        let Hashes { group, row } = self.canon.line(line, scratch);
        let (record, retired) = (xxh3_64(&correction.record), self.retired(&correction.record).unwrap_or(0));
        Some(Entry { group, of: Of::Line, row, record, place, retired })
    }

    /// The number of the day of a record whose table was dropped by age.
    fn retired(&self, record: &[u8]) -> Option<u32> {
        let fields = &self.file.layout.types()[self.record_type].fields;
        self.tables.retired.iter().find_map(|(column, days)| {
            let by = fields.iter().find(|field| field.name.eq_ignore_ascii_case(column));
            let text = by.map(|field| self.file.layout.value(field, record)).unwrap_or_default();
            let text = std::str::from_utf8(&text).unwrap_or_default();
            let mut day = [8, 10].into_iter().filter_map(|end| Day::parse(text.get(..end)?));
            day.next().filter(|day| days.contains_key(day)).and_then(|day| day.number().try_into().ok())
        })
    }

    fn unfit(&self, layout: &Layout, record: &[u8], place: u64, scratch: &mut Scratch) -> Option<u128> {
        match layout.type_of(record) {
            // Nobody's: that it is a reject is told in the audit of every type.
            None => Some(self.canon.unfit(None, record, place, scratch)),
            Some(index) if index != self.record_type => None,
            Some(index) => Some(self.canon.unfit(Some((layout, index)), record, place, scratch)),
        }
    }
}

pub(crate) struct Noting<'a, 'r> {
    pub(super) of: &'a Records<'r>,
    pub(super) number: u32,
    pub(super) wanted: Option<&'a Wanted>,
    pub(super) failed: &'a AtomicBool,
}

impl Work for Noting<'_, '_> {
    type Scratch = Noted;

    fn work(&self, offset: u64, block: &[u8], noted: &mut Noted) -> Result<(), HaulError> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(HaulError::Stopped { path: self.path(), at: offset });
        }
        noted.entries.clear();
        noted.keys.clear();
        noted.other_types = 0;
        let Records { file, record_type, .. } = *self.of;
        let Noted { entries, other_types, keys, key, line, scratch } = noted;
        for (at, record) in records(block, file.separator) {
            let place = Place { input: self.number, offset: offset + at as u64 };
            let correction = self.of.correction(place);
            let stored = correction.filter(|correction| correction.stored.is_some());
            let record = correction.map_or(record, |correction| &correction.record);
            let entry = match stored {
                Some(stored) => self.of.note_stored(stored, place.packed(), scratch),
                None => self.of.note(record, place.packed(), line, scratch),
            };
            let Some(entry) = entry else {
                *other_types += 1;
                continue;
            };
            let is_wanted = self.wanted.is_none_or(|wanted| wanted.has(entry.group));
            if entry.of == Of::Line && self.of.has_keys && stored.is_none() {
                // Also of what nobody wants: where a group is a whole row, what repeats a key may be in another one.
                let key = keys::Entry::of(&file.layout, record_type, record, place, key);
                keys.extend(key.map(|key| (key, is_wanted.then_some(entries.len()))));
            }
            if is_wanted {
                entries.push(entry);
            }
        }
        Ok(())
    }
}

impl Noting<'_, '_> {
    fn path(&self) -> PathBuf {
        self.of.inputs[self.number as usize].clone()
    }
}

struct Taken<'a> {
    take: Take<'a>,
    seen: Option<&'a mut Seen>,
    read: &'a AtomicU64,
    /// Bytes of the inputs before this one.
    before: u64,
    opened: Arc<AtomicU64>,
}

impl Sink<Noted> for Taken<'_> {
    fn settle(&mut self, offset: u64, block: &[u8], noted: &mut Noted) -> Result<(), HaulError> {
        keys::check_end(offset + block.len() as u64)?;
        self.seen.as_mut().map_or(Ok(()), |seen| noted.settle(seen))
    }

    fn take(&mut self, noted: &Noted) -> Result<(), HaulError> {
        self.read.store(self.before + self.opened.load(Ordering::Relaxed), Ordering::Relaxed);
        (self.take)(noted)
    }
}
