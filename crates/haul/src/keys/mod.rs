//! Finds records that come twice, in a bounded memory, in one pass: the first one stands, whichever stream it came by.
//!
//! A key is 96 bits of its hash ([`Entry`]), in a sorted table in memory ([`table`]). What an earlier call had is found by the table's own
//! key when it is loaded.

use crate::HaulError;
use evenkeel_wire::record::Layout;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the input, below [`INPUTS`].
    pub input: u32,
    /// Bytes before the record, unpacked, below [`BYTES`].
    pub offset: u64,
}

/// Inputs that can be told apart at most.
pub const INPUTS: u64 = 1 << 20;
/// Bytes of an input at most, unpacked.
pub const BYTES: u64 = 1 << 44;

/// Whether a record that ends so many bytes after the beginning of its input has a place that can be told.
pub(crate) fn check_end(bytes: u64) -> Result<(), HaulError> {
    if bytes > BYTES { Err(HaulError::TooMany { what: "bytes of one input", most: BYTES }) } else { Ok(()) }
}

/// Whether so many inputs can be told apart.
pub(crate) fn check_inputs(count: usize) -> Result<(), HaulError> {
    if count as u64 > INPUTS { Err(HaulError::TooMany { what: "inputs", most: INPUTS }) } else { Ok(()) }
}

impl Place {
    pub(crate) fn packed(self) -> u64 {
        u64::from(self.input) * BYTES + self.offset
    }

    pub(crate) fn unpacked(packed: u64) -> Self {
        Self { input: (packed / BYTES) as u32, offset: packed % BYTES }
    }
}

/// The key of a record, what it is, and where. Sorts by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    high: u64,
    low: u32,
    /// Bits of the record's hash.
    record: u32,
    /// Packed, and one more, so that no entry at all takes no more memory than one.
    place: NonZeroU64,
}

impl Entry {
    /// Of a record whose type has this index; `None` where records of that type have no key. Its values are those that would be stored, so
    /// that converting, loading and auditing take the same records for one. `key` is memory to put it together in.
    pub fn of(layout: &Layout, index: usize, record: &[u8], place: Place, key: &mut Vec<u8>) -> Option<Self> {
        layout.types().get(index).filter(|of| !of.key.is_empty())?;
        key.clear();
        key.extend_from_slice(&(index as u32).to_be_bytes());
        layout.key_of(index, record, key);
        Some(Self::new(key, record, place))
    }

    /// Of a record with this key. Among 1e9 keys the chance of a collision is about 1e-11.
    pub fn new(key: &[u8], record: &[u8], place: Place) -> Self {
        let hash = xxh3_128(key);
        let (high, low) = ((hash >> 64) as u64, (hash >> 32) as u32);
        Self {
            high,
            low,
            record: xxh3_64(record) as u32,
            place: NonZeroU64::MIN.saturating_add(place.packed()),
        }
    }

    pub fn place(&self) -> Place {
        Place::unpacked(self.place.get() - 1)
    }

    fn key(&self) -> (u64, u32) {
        (self.high, self.low)
    }
}

/// Entries whose homes are the first bits of their keys: each stands there or behind it, with no free place between, and in their order.
struct Table {
    slots: Vec<Option<Entry>>,
    bits: u32,
    used: usize,
    most_bits: u32,
}

/// Where an entry stands, or would.
enum Found {
    Here(Entry),
    /// At this place, nothing with its key does.
    Nowhere(usize),
}

const FIRST_BITS: u32 = 10;

impl Table {
    /// Of `2^most_bits` places at most.
    pub fn new(most_bits: u32) -> Self {
        Self { slots: vec![None; 1 << FIRST_BITS], bits: FIRST_BITS, used: 0, most_bits }
    }

    fn home(&self, entry: &Entry) -> usize {
        (entry.high >> (64 - self.bits)) as usize
    }

    pub fn find(&self, entry: &Entry) -> Found {
        let mut at = self.home(entry);
        loop {
            match self.slots.get(at) {
                Some(Some(known)) if known.key() < entry.key() => at += 1,
                Some(Some(known)) if known.key() == entry.key() => return Found::Here(*known),
                _ => return Found::Nowhere(at),
            }
        }
    }

    /// Puts an entry where [`Table::find`] said that it would be; those behind it move.
    pub fn put(&mut self, at: usize, entry: Entry) {
        let free = self.slots[at.min(self.slots.len())..].iter().position(Option::is_none);
        match free.map(|free| at + free) {
            Some(free) => self.slots.copy_within(at..free, at + 1),
            None => {
                self.slots.push(None);
                let end = self.slots.len() - 1;
                self.slots.copy_within(at..end, at + 1);
            }
        }
        self.slots[at] = Some(entry);
        self.used += 1;
        if self.is_dense() && self.bits < self.most_bits {
            self.grow();
        }
    }

    fn is_dense(&self) -> bool {
        self.used > (1 << self.bits) / 8 * 7
    }

    pub fn is_full(&self) -> bool {
        self.is_dense() && self.bits >= self.most_bits
    }

    pub fn most(&self) -> u64 {
        (1 << self.most_bits) / 8 * 7 + 1
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.bits += 1;
        self.slots = vec![None; 1 << self.bits];
        let mut next = 0;
        for entry in old.into_iter().flatten() {
            let at = self.home(&entry).max(next);
            if at >= self.slots.len() {
                self.slots.push(None);
            }
            self.slots[at] = Some(entry);
            next = at + 1;
        }
    }

    #[cfg(test)]
    fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.slots.iter().flatten().copied()
    }
}

/// Places of the table, as a power of two: 3.2 GB, and half as much again while it grows.
const TABLE: u32 = if cfg!(test) { 18 } else { 27 };

/// The record that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub place: Place,
    pub same: bool,
}

/// Keys of records, each with the first record that had it.
pub struct Seen(Table);

impl Default for Seen {
    fn default() -> Self {
        Self(Table::new(TABLE))
    }
}

impl Seen {
    /// Notes a record, and says which one has its key already; `None` where none has, or the record is that one itself.
    pub fn see(&mut self, entry: Entry) -> Result<Option<Known>, HaulError> {
        let known = match self.0.find(&entry) {
            Found::Here(known) => known,
            Found::Nowhere(_) if self.0.is_full() => {
                return Err(HaulError::TooMany { what: "records with keys", most: self.0.most() });
            }
            Found::Nowhere(at) => {
                self.0.put(at, entry);
                return Ok(None);
            }
        };
        let is_other = known.place != entry.place;
        Ok(is_other.then(|| Known { place: known.place(), same: known.record == entry.record }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Place;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_table_finds_what_was_put_into_it_and_stays_sorted(
            keys in proptest::collection::vec((0_u64..3000, 0_u32..3), 0..4000), crowded in any::<bool>(),
        ) {
            let (mut table, mut known) = (Table::new(12), BTreeMap::new());
            for (number, (high, low)) in (0_u64..).zip(keys) {
                // Crowded: all at the end of the table, and beyond it.
                let high = if crowded { u64::MAX - high } else { high << 52 };
                let entry = Entry { high, low, ..Entry::new(b"", b"", Place { input: 0, offset: number }) };
                match table.find(&entry) {
                    Found::Here(found) => prop_assert_eq!(Some(&found), known.get(&entry.key())),
                    Found::Nowhere(at) => {
                        prop_assert!(known.insert(entry.key(), entry).is_none());
                        table.put(at, entry);
                    }
                }
            }
            prop_assert_eq!(table.entries().collect::<Vec<_>>(), known.values().copied().collect::<Vec<_>>());
        }
    }

    fn at(input: u32, offset: u64) -> Place {
        Place { input, offset }
    }

    #[test]
    fn the_first_of_alike_records_stands_and_the_others_say_where_it_is() {
        let mut seen = Seen::default();
        let mut see = |key: &[u8], record: &[u8], place| seen.see(Entry::new(key, record, place)).unwrap();
        assert_eq!(see(b"7", b"7 ada", at(1, 0)), None);
        assert_eq!(see(b"8", b"8 bob", at(0, 10)), None);
        assert_eq!(see(b"7", b"7 ada", at(0, 20)), Some(Known { place: at(1, 0), same: true }));
        assert_eq!(see(b"7", b"7 eve", at(1, 40)), Some(Known { place: at(1, 0), same: false }));
        assert_eq!(see(b"7", b"7 ada", at(1, 0)), None, "it is the record itself");
    }

    #[test]
    fn keys_are_found_again_and_more_than_memory_may_hold_are_refused_with_a_way_out() {
        let mut seen = Seen::default();
        let mut see = |number: u64| {
            let bytes = number.to_be_bytes();
            seen.see(Entry::new(&bytes, &bytes, at(0, number * 200)))
        };
        let most = (1 << TABLE) / 8 * 7 + 1;
        (0..most).for_each(|number| assert_eq!(see(number).unwrap(), None, "{number}"));
        let error = see(most).unwrap_err();
        assert_eq!(error.to_string(), format!("more than {most} records with keys in one run"));
        assert!(error.hint().is_some_and(|hint| hint.contains("--duplicates keep")));
        // Those that are known still are.
        assert_eq!(see(5).unwrap(), None);
    }
}
