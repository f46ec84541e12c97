//! Finds records that come twice, in a bounded memory.
//!
//! The keys of all records go, as 128 bits each, into files parted by their first bits ([`Keys`]). A part is small enough to be
//! sorted in memory; alike keys stand together then, in the order in which they were read ([`Keys::judge`]). What is found goes into
//! files parted by the place of the record ([`Repeated`]), since that is the order in which records are converted.

mod repeated;
pub(crate) mod spill;

pub use repeated::{Repeat, Repeated};

use crate::HaulError;
use repeated::RepeatedWriter;
use spill::Spill;
use std::path::Path;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Parts of the keys.
const PARTS: usize = 256;
/// Bytes of an entry: key, record, place.
const ENTRY: usize = 32;

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the input, below [`INPUTS`].
    pub input: u32,
    /// Bytes before the record, unpacked, below [`BYTES`].
    pub offset: u64,
}

/// Inputs of a conversion at most.
pub const INPUTS: u64 = 1 << 20;
/// Bytes of an input at most, unpacked.
pub const BYTES: u64 = 1 << 44;

impl Place {
    /// As one number, in the order of inputs and offsets.
    pub(crate) fn packed(self) -> u64 {
        u64::from(self.input) * BYTES + self.offset
    }

    /// From the number that `packed` makes.
    pub(crate) fn unpacked(packed: u64) -> Self {
        Self { input: (packed / BYTES) as u32, offset: packed % BYTES }
    }
}

/// The keys of all records of a conversion, on disk.
pub struct Keys {
    spill: Spill<ENTRY>,
    home: std::path::PathBuf,
}

/// Keys of one block, before they go to disk.
#[derive(Default)]
pub struct KeysOfBlock(Vec<[u8; ENTRY]>);

impl KeysOfBlock {
    /// Notes a record.
    pub fn note(&mut self, key: &[u8], record: &[u8], place: Place) {
        let mut entry = [0; ENTRY];
        // The first byte is the part, and entries sort by key and then by place.
        entry[..16].copy_from_slice(&xxh3_128(key).to_be_bytes());
        entry[16..24].copy_from_slice(&place.packed().to_be_bytes());
        entry[24..].copy_from_slice(&xxh3_64(record).to_be_bytes());
        self.0.push(entry);
    }

    /// Forgets all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Keys {
    /// In files of a folder that exists.
    pub fn new(home: &Path) -> Result<Self, HaulError> {
        Ok(Self { spill: Spill::new(home, "keys", PARTS)?, home: home.to_owned() })
    }

    /// Adds the keys of a block.
    pub fn add(&mut self, keys: &KeysOfBlock) -> Result<(), HaulError> {
        keys.0.iter().try_for_each(|entry| self.spill.push(usize::from(entry[0]), entry))
    }

    /// Which records have a key that a record before them has, for inputs of at most so many bytes each.
    pub fn judge(mut self, longest_input: u64) -> Result<Repeated, HaulError> {
        let mut found = RepeatedWriter::new(&self.home, longest_input)?;
        for part in 0..PARTS {
            let mut entries = self.spill.take(part)?;
            entries.sort_unstable();
            for alike in entries.chunk_by(|a, b| a[..16] == b[..16]) {
                judge(alike, &mut found)?;
            }
        }
        found.done()
    }
}

/// Entries with one key, by their places: the first is the record, and what follows is the same again or a contradiction.
fn judge(alike: &[[u8; ENTRY]], found: &mut RepeatedWriter) -> Result<(), HaulError> {
    let Some((first, more)) = alike.split_first() else { return Ok(()) };
    for entry in more {
        found.push(place(entry), place(first), entry[24..] == first[24..])?;
    }
    Ok(())
}

fn place(entry: &[u8; ENTRY]) -> Place {
    Place::unpacked(u64::from_be_bytes(entry[16..24].try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(input: u32, offset: u64) -> Place {
        Place { input, offset }
    }

    #[test]
    fn the_first_of_alike_records_stands_and_the_others_say_where_it_is() {
        let home = tempfile::tempdir().unwrap();
        let (mut keys, mut block) = (Keys::new(home.path()).unwrap(), KeysOfBlock::default());
        block.note(b"7", b"7 ada", at(1, 0));
        block.note(b"8", b"8 bob", at(0, 10));
        block.note(b"7", b"7 ada", at(0, 20));
        block.note(b"7", b"7 eve", at(1, 40));
        keys.add(&block).unwrap();
        let repeated = keys.judge(100).unwrap();
        assert_eq!(repeated.count(), 2);
        assert!(repeated.within(0, 0..100).unwrap().is_empty());
        let found = repeated.within(1, 0..100).unwrap();
        assert_eq!(
            found,
            [
                Repeat { offset: 0, first: at(0, 20), same: true },
                Repeat { offset: 40, first: at(0, 20), same: false },
            ]
        );
        assert_eq!(repeated.within(1, 1..100).unwrap().len(), 1);
    }

    #[test]
    fn a_hundred_thousand_keys_are_found_again_and_no_other() {
        let home = tempfile::tempdir().unwrap();
        let (mut keys, mut block) = (Keys::new(home.path()).unwrap(), KeysOfBlock::default());
        let longest = 100_000 * 200;
        for number in 0..100_000_u64 {
            // Every tenth has the key of the one before it.
            let key = if number % 10 == 9 { number - 1 } else { number };
            block.note(&key.to_be_bytes(), &key.to_be_bytes(), at(0, number * 200));
        }
        keys.add(&block).unwrap();
        let repeated = keys.judge(longest).unwrap();
        assert_eq!(repeated.count(), 10_000);
        let mut seen = 0;
        for begin in (0..longest).step_by(1 << 20) {
            for repeat in repeated.within(0, begin..begin + (1 << 20)).unwrap() {
                assert!(
                    repeat.same
                        && repeat.offset / 200 % 10 == 9
                        && repeat.first.offset + 200 == repeat.offset
                );
                seen += 1;
            }
        }
        assert_eq!(seen, 10_000);
    }
}
