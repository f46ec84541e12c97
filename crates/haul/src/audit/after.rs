//! What an audit leaves out that follows a load: what others stored, and what became of rejects before.

use super::finding::{Found, Kind};

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
