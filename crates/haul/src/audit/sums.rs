//! Counts and sums by bucket, which tell whether two sides hold the same, in whatever order.

use xxhash_rust::xxh3::xxh3_128;

/// Buckets that records and rows are dealt into by the hash of their key.
pub(super) const BUCKETS: usize = 1 << 16;

/// How many, and the sum of their hashes, which wraps. It is a sum because what comes twice has to count twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    sum: u128,
}

impl Sum {
    fn add(&mut self, hash: u128) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Sums {
    stored: Vec<Sum>,
    refused: Vec<Sum>,
    /// Entries by what they are.
    counts: [u64; Of::ALL.len()],
}

pub(super) fn bucket(group: u128) -> usize {
    (group >> 112) as usize
}

impl Default for Sums {
    fn default() -> Self {
        let empty = vec![Sum::default(); BUCKETS];
        Self { stored: empty.clone(), refused: empty, counts: [0; Of::ALL.len()] }
    }
}

impl Sums {
    pub fn add(&mut self, entry: &Entry) {
        self.counts[entry.of as usize] += 1;
        let bucket = bucket(entry.group);
        match entry.of {
            Of::Line | Of::Row => self.stored[bucket].add(entry.row),
            _ => self.refused[bucket].add(entry.refused()),
        }
    }

    pub fn join(&mut self, other: &Self) {
        let sums =
            self.stored.iter_mut().zip(&other.stored).chain(self.refused.iter_mut().zip(&other.refused));
        for (sum, more) in sums {
            sum.count += more.count;
            sum.sum = sum.sum.wrapping_add(more.sum);
        }
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    pub fn count(&self, of: Of) -> u64 {
        self.counts[of as usize]
    }

    fn entries(&self, bucket: usize) -> u64 {
        self.stored[bucket].count + self.refused[bucket].count
    }
}

/// Buckets that are gone through in one more reading.
pub(crate) struct Wanted(Vec<bool>);

impl Wanted {
    pub fn has(&self, group: u128) -> bool {
        self.0[bucket(group)]
    }
}

/// The buckets that differ, in as many readings as it takes to have at most so many entries at once. Lines of rejects files are
/// compared where they are known.
pub(super) fn different(files: &Sums, others: &Sums, rejects_known: bool, at_most: u64) -> Vec<Wanted> {
    let mut readings: Vec<(Wanted, u64)> = Vec::new();
    for bucket in 0..BUCKETS {
        let stored = files.stored[bucket] == others.stored[bucket];
        let refused = !rejects_known || files.refused[bucket] == others.refused[bucket];
        if stored && refused {
            continue;
        }
        let entries = files.entries(bucket) + others.entries(bucket);
        match readings.last_mut() {
            Some((wanted, sum)) if *sum + entries <= at_most => {
                wanted.0[bucket] = true;
                *sum += entries;
            }
            _ => {
                let mut wanted = Wanted(vec![false; BUCKETS]);
                wanted.0[bucket] = true;
                readings.push((wanted, entries));
            }
        }
    }
    readings.into_iter().map(|(wanted, _)| wanted).collect()
}

pub(super) const BYTES: usize = 53;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Of {
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
pub(crate) struct Entry {
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

    fn entry(of: Of, group: u128, row: u128) -> Entry {
        Entry { group, of, row, record: 0, place: 0, retired: 0 }
    }

    fn sums(of: Of, rows: &[u128]) -> Sums {
        let mut sums = Sums::default();
        rows.iter().for_each(|row| sums.add(&entry(of, 1 << 112, *row)));
        sums
    }

    fn differ(lines: &[u128], rows: &[u128]) -> usize {
        different(&sums(Of::Line, lines), &sums(Of::Row, rows), false, 100).len()
    }

    #[test]
    fn the_order_is_not_looked_at_and_what_comes_twice_counts_twice() {
        assert_eq!(differ(&[7, 8, 9], &[9, 7, 8]), 0);
        assert_eq!(differ(&[7, 8], &[7]), 1);
        assert_eq!(differ(&[7], &[7, 7]), 1);
        // As many on both sides, and an exclusive or would be the same on both.
        assert_eq!(differ(&[7, 7, 9], &[9, 9, 9]), 1);
        assert_eq!(differ(&[1, 2, 4, 7], &[0, 3, 5, 6]), 0, "equal sums: why hashes have 128 bits");
    }

    #[test]
    fn buckets_that_differ_come_in_readings_that_are_not_too_large() {
        let mut files = Sums::default();
        (0..10_u128).for_each(|bucket| files.add(&entry(Of::Line, bucket << 112, 5)));
        let none = Sums::default();
        assert_eq!(different(&files, &none, false, 4).len(), 3);
        let readings = different(&files, &none, false, 100);
        assert!(readings.len() == 1 && readings[0].has(9 << 112 | 1) && !readings[0].has(10 << 112));
        assert_eq!(different(&sums(Of::Line, &[1, 2, 3]), &none, false, 1).len(), 1, "a large bucket");
    }

    #[test]
    fn refused_records_are_compared_where_the_rejects_are_known() {
        let mut files = Sums::default();
        files.add(&entry(Of::Unfit, 3, 0));
        assert_eq!(different(&files, &Sums::default(), false, 9).len(), 0);
        assert_eq!(different(&files, &Sums::default(), true, 9).len(), 1);
        let mut listed = Sums::default();
        listed.add(&entry(Of::Listed, 3, 0));
        assert_eq!(different(&files, &listed, true, 9).len(), 0);
    }

    #[test]
    fn an_entry_comes_back_from_disk() {
        for of in Of::ALL {
            let entry = Entry { group: 1 << 100 | 7, of, row: !3, record: 5, place: 1 << 60, retired: 9 };
            assert_eq!(Entry::from_bytes(&entry.to_bytes()), Some(entry));
        }
        assert_eq!(Entry::from_bytes(&[9; BYTES]), None);
    }
}
