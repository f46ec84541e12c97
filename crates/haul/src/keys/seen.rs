//! All keys that were seen.

use super::table::{Found, Table};
use super::{Entry, Place};
use crate::HaulError;

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
        assert_eq!(error.to_string(), format!("more than {most} records with keys in one call"));
        assert!(error.hint().is_some_and(|hint| hint.contains("--duplicates keep")));
        // Those that are known still are.
        assert_eq!(see(5).unwrap(), None);
    }
}
