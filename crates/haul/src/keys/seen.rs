//! All keys that were seen.

use super::filter::Filter;
use super::run::{Run, merged};
use super::table::{Found, Table};
use super::{Entry, Place};
use crate::HaulError;
use std::io;
use std::path::{Path, PathBuf};

/// Places of the table in memory, as a power of two: 100 MB.
const TABLE: u32 = if cfg!(test) { 14 } else { 22 };
/// Runs that become one.
const RUNS: usize = 8;

/// The record that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where it lies.
    pub place: Place,
    /// Whether it is the same, byte by byte.
    pub same: bool,
}

/// Keys of records, each with the first record that had it.
pub struct Seen {
    table: Table,
    /// Runs and their levels, which fall: so many runs of one level become one of the next, so that an entry is seldom written again.
    runs: Vec<(u32, Run)>,
    /// Of all that is in runs; `None` while there are none.
    filter: Option<Filter>,
    home: PathBuf,
}

impl Seen {
    /// None yet; what memory does not hold goes into unnamed files of a folder that exists.
    pub fn new(home: &Path) -> Self {
        Self { table: Table::new(TABLE), runs: Vec::new(), filter: None, home: home.to_owned() }
    }

    /// Notes a record, and says which one has its key already; `None` where none has, or the record is that one itself.
    pub fn see(&mut self, entry: Entry) -> Result<Option<Known>, HaulError> {
        let known = match self.table.find(&entry) {
            Found::Here(known) => Some(known),
            Found::Nowhere(at) => {
                let known = self.on_disk(&entry)?;
                if known.is_none() {
                    self.table.put(at, entry);
                    if self.table.is_full() {
                        self.spill().map_err(HaulError::io("write keys to", &self.home))?;
                    }
                }
                known
            }
        };
        let other = known.filter(|known| known.place != entry.place);
        Ok(other.map(|known| Known { place: known.place(), same: known.record == entry.record }))
    }

    fn on_disk(&self, entry: &Entry) -> Result<Option<Entry>, HaulError> {
        if !self.filter.as_ref().is_some_and(|filter| filter.may_have(entry.key())) {
            return Ok(None);
        }
        for (_, run) in &self.runs {
            let known = run.find(entry.key()).map_err(HaulError::io("read keys in", &self.home))?;
            if known.is_some() {
                return Ok(known);
            }
        }
        Ok(None)
    }

    fn spill(&mut self) -> io::Result<()> {
        let filter = self.filter.get_or_insert_with(Filter::new);
        self.table.entries().for_each(|entry| filter.add(entry.key()));
        self.runs.push((0, Run::write(&self.home, self.table.entries().map(Ok))?));
        self.table.clear();
        while let Some((from, level)) = self.full_level() {
            let streams = self.runs[from..].iter().map(|(_, run)| Ok(Box::new(run.entries()?) as Box<_>));
            let one = Run::write(&self.home, merged(streams.collect::<io::Result<_>>()?))?;
            self.runs.truncate(from);
            self.runs.push((level + 1, one));
        }
        Ok(())
    }

    /// Where the last runs begin, if enough of them are of one level.
    fn full_level(&self) -> Option<(usize, u32)> {
        let from = self.runs.len().checked_sub(RUNS)?;
        let (level, _) = self.runs[from];
        self.runs[from..].iter().all(|(other, _)| *other == level).then_some((from, level))
    }
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
        let mut seen = Seen::new(home.path());
        let mut see = |key: &[u8], record: &[u8], place| seen.see(Entry::new(key, record, place)).unwrap();
        assert_eq!(see(b"7", b"7 ada", at(1, 0)), None);
        assert_eq!(see(b"8", b"8 bob", at(0, 10)), None);
        assert_eq!(see(b"7", b"7 ada", at(0, 20)), Some(Known { place: at(1, 0), same: true }));
        assert_eq!(see(b"7", b"7 eve", at(1, 40)), Some(Known { place: at(1, 0), same: false }));
        assert_eq!(see(b"7", b"7 ada", at(1, 0)), None, "it is the record itself");
    }

    #[test]
    fn a_hundred_thousand_keys_are_found_again_on_disk_and_no_other() {
        let home = tempfile::tempdir().unwrap();
        let mut seen = Seen::new(home.path());
        for round in 0..2 {
            for number in 0..100_000_u64 {
                // Every tenth has the key of the one before it.
                let key = if number % 10 == 9 { number - 1 } else { number };
                let bytes = key.to_be_bytes();
                let known = seen.see(Entry::new(&bytes, &bytes, at(round, number * 200))).unwrap();
                let first = at(0, key * 200);
                let expected = (round == 1 || number % 10 == 9).then_some(Known { place: first, same: true });
                assert_eq!(known, expected, "{number} in round {round}");
            }
        }
        assert!(!seen.runs.is_empty() && seen.runs.len() <= RUNS);
    }
}
