//! Records whose keys came before, by the place of the record.

use super::Place;
use super::spill::Spill;
use crate::HaulError;
use std::ops::Range;
use std::path::Path;

/// Parts of an input.
const PARTS: u64 = 256;
/// Bytes of an entry: place, place of the first, whether it is the same.
const ENTRY: usize = 17;

/// A record that has the key of another one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Where it begins in its input.
    pub offset: u64,
    /// The record that came first.
    pub first: Place,
    /// Whether both are the same, byte by byte.
    pub same: bool,
}

/// All of them, on disk.
pub struct Repeated {
    spill: Spill<ENTRY>,
    /// Bytes of an input that are one part.
    span: u64,
    count: u64,
}

/// The same while they are found.
pub(super) struct RepeatedWriter(Repeated);

impl RepeatedWriter {
    pub fn new(home: &Path, longest_input: u64) -> Result<Self, HaulError> {
        let span = (longest_input / PARTS + 1).max(1 << 20);
        let spill = Spill::new(home, "repeated", PARTS as usize)?;
        Ok(Self(Repeated { spill, span, count: 0 }))
    }

    pub fn push(&mut self, place: Place, first: Place, same: bool) -> Result<(), HaulError> {
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&place.packed().to_be_bytes());
        entry[8..16].copy_from_slice(&first.packed().to_be_bytes());
        entry[16] = u8::from(same);
        self.0.count += 1;
        let part = self.0.part(place.offset);
        self.0.spill.push(part, &entry)
    }

    pub fn done(self) -> Result<Repeated, HaulError> {
        Ok(self.0)
    }
}

impl Repeated {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Those of an input that begin within these bytes of it, in their order.
    pub fn within(&self, input: u32, bytes: Range<u64>) -> Result<Vec<Repeat>, HaulError> {
        if self.count == 0 || bytes.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for part in self.part(bytes.start)..=self.part(bytes.end - 1) {
            for entry in self.spill.read(part)? {
                let number =
                    |from: usize| u64::from_be_bytes(entry[from..from + 8].try_into().unwrap_or_default());
                let place = Place::unpacked(number(0));
                if place.input == input && bytes.contains(&place.offset) {
                    let first = Place::unpacked(number(8));
                    found.push(Repeat { offset: place.offset, first, same: entry[16] == 1 });
                }
            }
        }
        found.sort_unstable_by_key(|repeat| repeat.offset);
        Ok(found)
    }

    fn part(&self, offset: u64) -> usize {
        (offset / self.span).min(PARTS - 1) as usize
    }
}
