//! What became of the records of one key.

use super::after::{Found, Kind};
use super::sums::{Entry, Of};
use crate::keys::Place;
use std::collections::{BTreeMap, BTreeSet};

/// How often a record is in the rejects files, and as what.
type Listed = BTreeMap<(u64, u64), (u64, Of)>;

/// Records that fit and have no row, each for a reason that is in order.
#[derive(Default)]
pub(super) struct Excused {
    /// The server refused them.
    pub refused: u64,
    /// `cdr retire` has dropped the table of their day, by its number.
    pub retired: BTreeMap<u32, u64>,
}

struct Group<'a> {
    group: u128,
    /// Records that fit, and whether each is to be stored; those that no rejects file has come first.
    fits: Vec<(&'a Entry, bool)>,
    unfit: Vec<&'a Entry>,
    /// A record that fits for each row that one would be.
    by_row: BTreeMap<u128, &'a Entry>,
    /// Rows: how many were found for a record, how many are left, and the table of the last.
    rows: BTreeMap<u128, Rows>,
    listed: Listed,
    /// Whether the server had this key already: no row is of a record that it refused.
    is_taken: bool,
    excused: Excused,
}

#[derive(Default)]
struct Rows {
    taken: u64,
    left: u64,
    table: u64,
}

/// Judges entries of one group: each record is stored once or refused once. Of records with the same key any one may be the one that is
/// stored, since which it was depends on which file was converted first.
pub(super) fn judge(
    entries: &[Entry],
    excused: Excused,
    rejects_known: bool,
    found: &mut dyn FnMut(Found),
) -> Excused {
    let mut group = Group { excused, ..Group::new(entries) };
    group.choose(found);
    group.rest(found);
    if rejects_known {
        group.check_listed(found);
        check_unknown(entries, found);
    }
    group.excused
}

impl<'a> Group<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        let mut group = Self {
            group: entries.first().map_or(0, |entry| entry.group),
            fits: Vec::new(),
            unfit: Vec::new(),
            by_row: BTreeMap::new(),
            rows: BTreeMap::new(),
            listed: Listed::new(),
            is_taken: false,
            excused: Excused::default(),
        };
        for entry in entries {
            match entry.of {
                Of::Line | Of::Repeat => group.fits.push((entry, false)),
                Of::Unfit => group.unfit.push(entry),
                Of::Row => {
                    let rows = group.rows.entry(entry.row).or_default();
                    (rows.left, rows.table) = (rows.left + 1, entry.place);
                }
                Of::Listed | Of::ListedRepeat | Of::ListedKey => {
                    let listed = group.listed.entry((entry.place, entry.record)).or_insert((0, entry.of));
                    *listed = (listed.0 + 1, entry.of);
                }
                Of::Garbled => {}
            }
        }
        let listed = &group.listed;
        group.fits.sort_by_key(|(entry, _)| (listed.contains_key(&(entry.place, entry.record)), entry.place));
        group.is_taken = listed.values().any(|(_, of)| *of == Of::ListedKey);
        for (entry, _) in &group.fits {
            if group.can_have_a_row(entry) {
                group.by_row.entry(entry.row).or_insert(entry);
            }
        }
        group
    }

    fn can_have_a_row(&self, entry: &Entry) -> bool {
        !(self.is_taken && self.listed.contains_key(&(entry.place, entry.record)))
    }

    /// Finds the rows of as many records as are to be stored, and says which records have none.
    fn choose(&mut self, found: &mut dyn FnMut(Found)) {
        let mut wanted = self.fits.iter().filter(|(entry, _)| entry.of != Of::Repeat).count();
        let mut fits = std::mem::take(&mut self.fits);
        for (entry, chosen) in &mut fits {
            if !self.can_have_a_row(entry) {
                continue;
            }
            let rows = self.rows.get_mut(&entry.row).filter(|rows| wanted > 0 && rows.left > 0);
            let Some(rows) = rows else { continue };
            (rows.taken, rows.left, wanted, *chosen) = (rows.taken + 1, rows.left - 1, wanted - 1, true);
            if self.listed.contains_key(&(entry.place, entry.record)) {
                let row = Some((self.group, entry.row, rows.table));
                found(Found { row, ..of_record(Kind::StoredReject, entry, rows.taken + rows.left) });
            }
        }
        // Which of a key is the one that was stored, and is retired by now, nobody knows.
        let retired = fits.iter().map(|(entry, _)| entry.retired).max().unwrap_or(0);
        for (entry, chosen) in fits.iter_mut().filter(|(_, chosen)| !chosen).take(wanted) {
            *chosen = true;
            self.not_stored((entry, if entry.retired > 0 { entry.retired } else { retired }), found);
        }
        self.fits = fits;
    }

    /// A record that ought to be stored and has no row of its values.
    fn not_stored(&mut self, (entry, retired): (&Entry, u32), found: &mut dyn FnMut(Found)) {
        // What the server would not take, say: it was refused once and is there to be had.
        if let Some((1, Of::Listed | Of::ListedKey)) = self.listed.get(&(entry.place, entry.record)) {
            self.excused.refused += 1;
            return;
        }
        let by_row = &self.by_row;
        let other = self.rows.iter_mut().find(|(row, rows)| rows.left > 0 && !by_row.contains_key(row));
        let Some((row, rows)) = other else {
            return match retired {
                0 => found(of_record(Kind::Lost, entry, 0)),
                day => *self.excused.retired.entry(day).or_default() += 1,
            };
        };
        rows.left -= 1;
        let row = Some((self.group, *row, rows.table));
        found(Found { row, ..of_record(Kind::Altered, entry, 1) });
    }

    fn rest(&self, found: &mut dyn FnMut(Found)) {
        for (row, rows) in self.rows.iter().filter(|(_, rows)| rows.left > 0) {
            let (kind, entry) = match (self.by_row.get(row), self.unfit.first()) {
                (Some(entry), _) if rows.taken > 0 => (Kind::Doubled, Some(*entry)),
                (Some(entry), _) | (None, Some(entry)) => (Kind::StoredReject, Some(*entry)),
                (None, None) => (Kind::Foreign, None),
            };
            let row = Some((self.group, *row, rows.table));
            found(match entry {
                Some(entry) => Found { row, ..of_record(kind, entry, rows.taken + rows.left) },
                None => Found { kind, record: None, row, times: rows.left },
            });
        }
    }

    /// Each record that is refused is in the rejects file once.
    fn check_listed(&self, found: &mut dyn FnMut(Found)) {
        let refused = self.fits.iter().filter(|(_, chosen)| !chosen).map(|(entry, _)| *entry);
        for entry in refused.chain(self.unfit.iter().copied()) {
            match self.listed.get(&(entry.place, entry.record)) {
                None => found(of_record(Kind::MissingReject, entry, 0)),
                Some((1, _)) => {}
                Some((times, _)) => found(of_record(Kind::RejectedTwice, entry, *times)),
            }
        }
    }
}

/// Each line of a rejects file is of a record.
fn check_unknown(entries: &[Entry], found: &mut dyn FnMut(Found)) {
    let is_record = |entry: &&Entry| matches!(entry.of, Of::Line | Of::Repeat | Of::Unfit);
    let records: BTreeSet<_> =
        entries.iter().filter(is_record).map(|entry| (entry.place, entry.record)).collect();
    for entry in entries {
        match entry.of {
            Of::Listed | Of::ListedRepeat | Of::ListedKey
                if !records.contains(&(entry.place, entry.record)) =>
            {
                found(of_record(Kind::UnknownReject, entry, 1));
            }
            Of::Garbled => found(of_record(Kind::GarbledReject, entry, 1)),
            _ => {}
        }
    }
}

fn of_record(kind: Kind, entry: &Entry, times: u64) -> Found {
    Found { kind, record: Some(Place::unpacked(entry.place)), row: None, times }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(of: Of, place: u64, row: u128) -> Entry {
        // Rows from 90 on are of a day that was retired.
        Entry { group: 7, of, row, record: place, place, retired: u32::from(row >= 90) }
    }

    /// What is found, as kind, offset of the record and times.
    fn of(entries: &[(Of, u64, u128)], rejects_known: bool) -> Vec<(Kind, Option<u64>, u64)> {
        let entries: Vec<_> = entries.iter().map(|(of, place, row)| entry(*of, *place, *row)).collect();
        let mut all = Vec::new();
        judge(&entries, Excused::default(), rejects_known, &mut |found| {
            all.push((found.kind, found.record.map(|place| place.offset), found.times));
        });
        all
    }

    use Of::{Garbled, Line, Listed, ListedKey, ListedRepeat, Repeat, Row, Unfit};

    #[test]
    fn a_record_that_is_stored_once_or_refused_once_is_no_finding() {
        assert_eq!(of(&[(Line, 0, 1), (Row, 0, 1)], true), []);
        assert_eq!(of(&[(Line, 0, 1), (Repeat, 9, 2), (Row, 0, 1), (ListedRepeat, 9, 0)], true), []);
        assert_eq!(of(&[(Unfit, 5, 0), (Listed, 5, 0)], true), []);
        assert_eq!(of(&[(Unfit, 5, 0)], false), []);
        assert_eq!(of(&[(Line, 0, 1), (Listed, 0, 0)], true), [], "the server refused it");
        assert_eq!(of(&[(Line, 0, 90), (Repeat, 9, 2), (ListedRepeat, 0, 0)], true), [], "it was retired");
        assert_eq!(of(&[(Line, 0, 1), (ListedKey, 0, 0), (Row, 0, 1)], true), [(Kind::Foreign, None, 1)]);
    }

    #[test]
    fn of_records_with_one_key_any_may_be_the_one_that_is_stored() {
        assert_eq!(of(&[(Line, 0, 1), (Repeat, 9, 2), (Row, 0, 2), (ListedRepeat, 0, 0)], true), []);
        assert_eq!(of(&[(Line, 0, 1), (Repeat, 9, 2), (Row, 0, 2)], false), []);
        assert_eq!(of(&[(Line, 0, 1), (Repeat, 9, 1), (Row, 0, 1), (ListedRepeat, 0, 0)], true), []);
    }

    #[test]
    fn what_is_lost_doubled_altered_or_of_no_record_is_told_apart() {
        assert_eq!(of(&[(Line, 3, 1)], false), [(Kind::Lost, Some(3), 0)]);
        assert_eq!(
            of(&[(Line, 3, 1), (Row, 0, 1), (Row, 0, 1), (Row, 0, 1)], false),
            [(Kind::Doubled, Some(3), 3)]
        );
        assert_eq!(of(&[(Line, 3, 1), (Row, 0, 2)], false), [(Kind::Altered, Some(3), 1)]);
        assert_eq!(of(&[(Line, 3, 1), (Row, 0, 1), (Row, 0, 2)], false), [(Kind::Foreign, None, 1)]);
        assert_eq!(of(&[(Row, 0, 2), (Row, 0, 2)], false), [(Kind::Foreign, None, 2)]);
    }

    #[test]
    fn alike_records_that_are_all_to_be_stored_are_stored_as_often() {
        let three = [(Line, 1, 5), (Line, 2, 5), (Line, 3, 5)];
        assert_eq!(of(&[&three[..], &[(Row, 0, 5); 3]].concat(), false), []);
        assert_eq!(of(&[&three[..], &[(Row, 0, 5); 2]].concat(), false), [(Kind::Lost, Some(3), 0)]);
        assert_eq!(of(&[&three[..], &[(Row, 0, 5); 4]].concat(), false), [(Kind::Doubled, Some(1), 4)]);
    }

    #[test]
    fn a_reject_that_is_stored_missing_or_there_twice_is_told() {
        let both = [(Line, 0, 1), (Repeat, 9, 2), (Row, 0, 1), (Row, 0, 2), (ListedRepeat, 9, 0)];
        assert_eq!(of(&both, true), [(Kind::StoredReject, Some(9), 1)]);
        assert_eq!(
            of(&[(Unfit, 5, 0), (Listed, 5, 0), (Row, 0, 8)], true),
            [(Kind::StoredReject, Some(5), 1)]
        );
        assert_eq!(
            of(&[(Line, 0, 1), (Row, 0, 1), (Listed, 0, 0)], true),
            [(Kind::StoredReject, Some(0), 1)]
        );
        assert_eq!(of(&[(Unfit, 5, 0)], true), [(Kind::MissingReject, Some(5), 0)]);
        assert_eq!(
            of(&[(Line, 0, 1), (Repeat, 9, 1), (Row, 0, 1)], true),
            [(Kind::MissingReject, Some(9), 0)]
        );
        assert_eq!(
            of(&[(Unfit, 5, 0), (Listed, 5, 0), (Listed, 5, 0)], true),
            [(Kind::RejectedTwice, Some(5), 2)]
        );
    }

    #[test]
    fn records_of_one_key_that_are_all_refused_are_lost() {
        let all = [(Line, 0, 1), (Repeat, 9, 2), (ListedRepeat, 0, 0), (ListedRepeat, 9, 0)];
        assert_eq!(of(&all, true), [(Kind::Lost, Some(0), 0)]);
    }

    #[test]
    fn a_line_of_the_rejects_that_is_of_no_record_is_told() {
        assert_eq!(of(&[(Listed, 5, 0)], true), [(Kind::UnknownReject, Some(5), 1)]);
        assert_eq!(of(&[(Garbled, 6, 0)], true), [(Kind::GarbledReject, Some(6), 1)]);
    }
}
