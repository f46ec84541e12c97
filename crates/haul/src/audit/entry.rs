//! What is noted of a record, of a row, and of a line of a rejects file.

use xxhash_rust::xxh3::xxh3_128;

pub(super) const BYTES: usize = 53;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Of {
    /// A record that becomes a line.
    Line,
    /// A record whose key came before.
    Repeat,
    /// A record that does not fit.
    Unfit,
    Row,
    /// A line of a rejects file: a record that did not fit, or that the server refused.
    Listed,
    /// One that says that the record's key came before.
    ListedRepeat,
    /// One that says that the server had the record's key already, of another record.
    ListedKey,
    /// A line of a rejects file that cannot be read.
    Garbled,
}

impl Of {
    pub const ALL: [Self; 8] = {
        use Of::{Garbled, Line, Listed, ListedKey, ListedRepeat, Repeat, Row, Unfit};
        [Line, Repeat, Unfit, Row, Listed, ListedRepeat, ListedKey, Garbled]
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Hash of the key, or of the whole row where there is none: what is compared with each other has the same one.
    pub group: u128,
    pub of: Of,
    /// Hash of the values of the row that is stored, or is to be.
    pub row: u128,
    /// Hash of the record's own bytes.
    pub record: u64,
    /// Where the record lies; of a row the number of its table.
    pub place: u64,
    /// Number of the day of a record whose table `cdr retire` has dropped: it need not be stored any more. Otherwise 0.
    pub retired: u32,
}

impl Entry {
    /// On disk: entries of a group stand together when these are sorted.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..16].copy_from_slice(&self.group.to_be_bytes());
        bytes[16] = self.of as u8;
        bytes[17..25].copy_from_slice(&self.place.to_be_bytes());
        bytes[25..41].copy_from_slice(&self.row.to_be_bytes());
        bytes[41..49].copy_from_slice(&self.record.to_be_bytes());
        bytes[49..].copy_from_slice(&self.retired.to_be_bytes());
        bytes
    }

    /// From disk; `None` where it is none.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let long = |from: usize| Some(u128::from_be_bytes(bytes[from..from + 16].try_into().ok()?));
        let short = |from: usize| Some(u64::from_be_bytes(bytes[from..from + 8].try_into().ok()?));
        let of = *Of::ALL.get(usize::from(bytes[16]))?;
        let retired = u32::from_be_bytes(bytes[49..].try_into().ok()?);
        Some(Self { group: long(0)?, of, row: long(25)?, record: short(41)?, place: short(17)?, retired })
    }

    /// What a record that is refused adds to the sum, or the line of the rejects file that has it.
    pub fn refused(&self) -> u128 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.place.to_be_bytes());
        bytes[8..].copy_from_slice(&self.record.to_be_bytes());
        xxh3_128(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_from_disk() {
        for of in Of::ALL {
            let entry = Entry { group: 1 << 100 | 7, of, row: !3, record: 5, place: 1 << 60, retired: 9 };
            assert_eq!(Entry::from_bytes(&entry.to_bytes()), Some(entry));
        }
        assert_eq!(Entry::from_bytes(&[9; BYTES]), None);
    }
}
