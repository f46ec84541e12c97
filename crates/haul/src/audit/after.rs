//! What an audit leaves out that follows a load: what others stored, and what became of rejects before.

use crate::dispatch::Day;
use crate::keys::Place;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct AfterLoad {
    /// Bytes at the beginning of each input that an earlier load stored.
    pub before: Vec<u64>,
    /// Whether the tables may hold rows of other files.
    pub others: bool,
    /// Whether records that an earlier load stored may have gone to day tables, which are not read.
    pub dispatched: bool,
    /// Whether a row tells by a key of which record it is; without one a row of another file may be like one of this load.
    pub keyed: bool,
}

impl AfterLoad {
    /// Whether what was found says nothing against this load.
    pub(super) fn leaves_out(&self, found: &Found) -> bool {
        let Some(place) = found.record else { return self.others };
        let is_before = self.before.get(place.input as usize).is_some_and(|end| place.offset < *end);
        match found.kind {
            Kind::Doubled => self.others && !self.keyed,
            // A row of somebody else may have the key of a record that does not fit.
            Kind::StoredReject => self.others,
            Kind::Lost => self.dispatched && is_before,
            Kind::Altered | Kind::Foreign => false,
            // The load before may have written its rejects to another file.
            Kind::MissingReject | Kind::RejectedTwice | Kind::UnknownReject | Kind::GarbledReject => {
                is_before
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A record of the files is stored nowhere and was not refused.
    Lost,
    Doubled,
    Altered,
    /// A row that is of no record.
    Foreign,
    /// A record that is refused has a row nevertheless.
    StoredReject,
    /// A record that is refused is not in the rejects file.
    MissingReject,
    /// It is there more often than once.
    RejectedTwice,
    /// A line of a rejects file that is of no record.
    UnknownReject,
    /// A line of a rejects file that cannot be read.
    GarbledReject,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Altered => "altered",
            Self::Foreign => "stored but in no file",
            Self::StoredReject => "stored although a reject",
            Self::MissingReject => "missing in the rejects file",
            Self::RejectedTwice => "rejected twice",
            Self::UnknownReject => "rejected but in no file",
            Self::GarbledReject => "no line of a rejects file",
        })
    }
}

/// A value that is another one in the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub field: String,
    /// What the file says; `None` for NULL. What is not UTF-8 is shown as far as it can be.
    pub file: Option<String>,
    pub table: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Discrepancy {
    pub kind: Kind,
    pub file: Option<PathBuf>,
    /// Bytes before the record in it, unpacked.
    pub offset: Option<u64>,
    pub table: Option<String>,
    /// Fields of the key with their values, or of the whole record where there is no key.
    pub key: String,
    /// How often it is stored, or is in the rejects file.
    pub times: u64,
    pub changed: Vec<Changed>,
}

impl Discrepancy {
    /// More records of a day are missing than `cdr retire` has dropped; which these are nobody knows.
    pub(super) fn of_day(day: Day, missing: u64, gone: u64) -> Self {
        let key = format!("{missing} records of {day} are missing, and cdr retire dropped {gone}");
        let (kind, times, changed) = (Kind::Lost, missing - gone, Vec::new());
        Self { kind, file: None, offset: None, table: None, key, times, changed }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub records: u64,
    /// Those among them that are of another type than the one looked at.
    pub other_types: u64,
    /// Those that are to be stored: without those that the server refused.
    pub lines: u64,
    /// Those that are refused, by the layout or by the server.
    pub rejected: u64,
    /// Corrected rejects among those to be stored.
    pub corrected: u64,
    pub rows: u64,
    /// Those that were in day tables that `cdr retire` dropped.
    pub retired: u64,
    /// Those that a load before has stored, and that are not in its table any more: nobody looked for them in day tables.
    pub unchecked: u64,
    pub tables: Vec<(String, String)>,
    /// When the tables were read as of one instant, by the server's clock; `None` where an engine has no snapshots.
    pub snapshot: Option<String>,
    /// Whether the files of rejects were looked at.
    pub rejects_checked: bool,
    pub found: BTreeMap<Kind, u64>,
    /// What was found, by kind and place, as far as names were asked for.
    pub findings: Vec<Discrepancy>,
}

impl Report {
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }
}

/// The same before its values are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub kind: Kind,
    pub record: Option<Place>,
    /// Group, row, and number of the table.
    pub row: Option<(u128, u128, u64)>,
    pub times: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Place;

    fn found(kind: Kind, offset: Option<u64>) -> Found {
        Found { kind, record: offset.map(|offset| Place { input: 0, offset }), row: None, times: 1 }
    }

    #[test]
    fn what_others_stored_is_left_out_and_nothing_else() {
        let alone = AfterLoad { before: vec![100], others: false, dispatched: false, keyed: true };
        for kind in [Kind::Lost, Kind::Altered, Kind::Doubled, Kind::StoredReject] {
            assert!(!alone.leaves_out(&found(kind, Some(50))), "{kind}");
        }
        assert!(!alone.leaves_out(&found(Kind::Foreign, None)));
        let out = [99, 100].map(|offset| alone.leaves_out(&found(Kind::MissingReject, Some(offset))));
        assert_eq!(out, [true, false]);
        let others = AfterLoad { others: true, dispatched: true, ..alone };
        assert!(
            [49, 100].map(|offset| others.leaves_out(&found(Kind::Lost, Some(offset)))) == [true, false]
                && others.leaves_out(&found(Kind::Foreign, None))
                && others.leaves_out(&found(Kind::StoredReject, Some(5)))
                && !others.leaves_out(&found(Kind::Doubled, Some(5)))
        );
        assert!(AfterLoad { keyed: false, ..others }.leaves_out(&found(Kind::Doubled, Some(500))));
    }
}
