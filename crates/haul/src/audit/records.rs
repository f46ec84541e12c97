//! The side of the files: what is to become of each record.

use super::canon::{Canon, Scratch};
use super::entry::{Entry, Of};
use super::sums::Wanted;
use crate::HaulError;
use crate::blocks::{Blocks, records};
use crate::convert::pool::{self, Sink, Work};
use crate::input::{self, Identity, Input};
use crate::keys::{Place, Repeat, Repeated};
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use evenkeel_wire::record::Layout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// What all readings of the files have in common.
pub(super) struct Records<'a> {
    pub file: &'a LayoutFile,
    /// Index of the type of record that the tables hold.
    pub record_type: usize,
    pub inputs: &'a [Input],
    /// What the inputs were when the audit began.
    pub identities: Vec<Option<Identity>>,
    pub canon: &'a Canon,
    pub repeated: Option<&'a Repeated>,
    pub stop: &'a Stop,
}

/// What became of a block.
#[derive(Default)]
pub(super) struct Noted {
    pub entries: Vec<Entry>,
    /// Records of types that nobody looks at.
    pub other_types: u64,
    line: Vec<u8>,
    scratch: Scratch,
}

/// Takes what was noted, of one input after the other.
pub(super) type Take<'a> = &'a mut (dyn FnMut(&Noted) -> Result<(), HaulError> + Send);

impl Records<'_> {
    /// Reads all inputs; `read` counts the bytes. Ends early where the other side `failed`.
    pub fn read(
        &self,
        wanted: Option<&Wanted>,
        failed: &AtomicBool,
        read: &AtomicU64,
        take: Take<'_>,
    ) -> Result<(), HaulError> {
        for (number, (input, identity)) in (0_u32..).zip(self.inputs.iter().zip(&self.identities)) {
            let opened = input::open(input, 0)?;
            if opened.identity != *identity {
                return Err(changed(input));
            }
            let before = read.load(Ordering::Relaxed);
            let mut sink = Taken { take: &mut *take, read, before, opened: Arc::clone(&opened.read) };
            let blocks = Blocks::new(opened.stream, self.file.separator, 0);
            let work = Noting { of: self, number, wanted, failed };
            pool::run(blocks, input.path(), &work, &mut sink, self.stop)?;
            read.store(before + opened.read.load(Ordering::Relaxed), Ordering::Relaxed);
            if Identity::of(input.path()) != *identity {
                return Err(changed(input));
            }
        }
        Ok(())
    }

    /// What is noted of a record that stands at a place; `None` where it is of another type.
    fn note(&self, record: &[u8], place: u64, line: &mut Vec<u8>, scratch: &mut Scratch) -> Option<Entry> {
        let layout = &self.file.layout;
        line.clear();
        let (of, group, row) = match layout.delimit(record, line) {
            Ok(index) if index != self.record_type => return None,
            Ok(_) => {
                let hashes = self.canon.line(line, scratch);
                (Of::Line, hashes.group, hashes.row)
            }
            Err(_) => (Of::Unfit, self.unfit(layout, record, place, scratch)?, 0),
        };
        Some(Entry { group, of, row, record: xxh3_64(record), place })
    }

    /// The same of a line of a rejects file.
    pub fn note_listed(
        &self,
        record: &[u8],
        place: Place,
        is_repeat: bool,
        noted: &mut Noted,
    ) -> Option<Entry> {
        let entry = self.note(record, place.packed(), &mut noted.line, &mut noted.scratch)?;
        Some(Entry { of: if is_repeat { Of::ListedRepeat } else { Of::Listed }, row: 0, ..entry })
    }

    fn unfit(&self, layout: &Layout, record: &[u8], place: u64, scratch: &mut Scratch) -> Option<u128> {
        match layout.type_of(record) {
            // Nobody's: that it is a reject is told in the audit of every type.
            None => Some(self.canon.unfit(None, record, place, scratch)),
            Some(index) if index != self.record_type => None,
            Some(index) => Some(self.canon.unfit(layout.types().get(index), record, place, scratch)),
        }
    }
}

/// What grew or was replaced meanwhile was not read as one file.
pub(super) fn changed(input: &Input) -> HaulError {
    let what = "its size, time or number is another one; run again once nobody writes to it";
    HaulError::Changed { path: input.path().to_owned(), at: 0, what }
}

struct Noting<'a, 'r> {
    of: &'a Records<'r>,
    number: u32,
    wanted: Option<&'a Wanted>,
    failed: &'a AtomicBool,
}

impl Work for Noting<'_, '_> {
    type Scratch = Noted;

    fn work(&self, offset: u64, block: &[u8], noted: &mut Noted) -> Result<(), HaulError> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(HaulError::Stopped { path: self.path(), at: offset });
        }
        let bytes = offset..offset + block.len() as u64;
        let repeats = self.of.repeated.map(|repeated| repeated.within(self.number, bytes)).transpose()?;
        noted.entries.clear();
        noted.other_types = 0;
        let mut repeats = repeats.iter().flatten().map(|repeat: &Repeat| repeat.offset).peekable();
        let Noted { entries, other_types, line, scratch } = noted;
        for (at, record) in records(block, self.of.file.separator) {
            let offset = offset + at as u64;
            let is_repeat = repeats.next_if_eq(&offset).is_some();
            let place = Place { input: self.number, offset }.packed();
            match self.of.note(record, place, line, scratch) {
                None => *other_types += 1,
                Some(entry) if self.wanted.is_some_and(|wanted| !wanted.has(entry.group)) => {}
                Some(entry) => {
                    entries.push(if is_repeat { Entry { of: Of::Repeat, ..entry } } else { entry })
                }
            }
        }
        Ok(())
    }
}

impl Noting<'_, '_> {
    fn path(&self) -> std::path::PathBuf {
        self.of.inputs[self.number as usize].path().to_owned()
    }
}

struct Taken<'a> {
    take: Take<'a>,
    read: &'a AtomicU64,
    /// Bytes of the inputs before this one.
    before: u64,
    opened: Arc<AtomicU64>,
}

impl Sink<Noted> for Taken<'_> {
    fn take(&mut self, noted: &Noted) -> Result<(), HaulError> {
        self.read.store(self.before + self.opened.load(Ordering::Relaxed), Ordering::Relaxed);
        (self.take)(noted)
    }
}
