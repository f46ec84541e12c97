//! Finds records that come twice, in a bounded memory, in one pass: the first one stands, whichever stream it came by.
//!
//! A key is 96 bits of its hash ([`Entry`]), in a sorted table in memory ([`table`]). What an earlier call had is found by the table's own
//! key when it is loaded.

mod seen;
mod table;

pub use seen::{Known, Seen};

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
        let of = layout.types().get(index).filter(|of| !of.key.is_empty())?;
        key.clear();
        key.extend_from_slice(&(index as u32).to_be_bytes());
        of.key_of(record, key);
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
