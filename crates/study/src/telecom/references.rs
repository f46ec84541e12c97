//! The published figures, as rates where sizes differ: 70 million records and 22 GB a day.

use super::parts::{DAYS, DISPATCH, EXPORT, LOAD};
use super::record::PUBLISHED_RECORDS;
use crate::harness::Reference;

/// Part, words, days of records, minutes, and further figures.
type Row = (&'static str, &'static str, f64, f64, &'static [(&'static str, f64)]);

const ROWS: [Row; 10] = [
    (EXPORT, "one thread, from the old database", 1.0, 105.0, &[("mb_per_s", 22_000.0 / (105.0 * 60.0))]),
    (LOAD, "InnoDB untuned, more than a day, so that rows per second are fewer", 1.0, 1_440.0, &[]),
    (LOAD, "InnoDB tuned", 1.0, 752.0, &[]),
    (LOAD, "InnoDB plugin, indexes after", 1.0, 149.0, &[("load_s", 42.0 * 60.0), ("index_s", 107.0 * 60.0)]),
    (LOAD, "MyISAM, indexes after", 1.0, 79.0, &[("load_s", 51.0 * 60.0), ("index_s", 28.0 * 60.0)]),
    (LOAD, "the old database", 1.0, 480.0, &[]),
    (DISPATCH, "stored procedures, by one of its figures", 3.0, 57.0, &[]),
    (DISPATCH, "stored procedures, by the other one", 3.0, 200.0, &[]),
    (DAYS, "three days, separators added", 3.0, 920.0, &[]),
    (DAYS, "three days, separators from the source (3 h 20 min less)", 3.0, 720.0, &[]),
];

pub(super) fn references() -> Vec<Reference> {
    let reference = |(part, words, days, minutes, more): Row| {
        let rows = days * PUBLISHED_RECORDS as f64;
        let times = [("seconds", 60.0 * minutes), ("rows_per_s", rows / (60.0 * minutes))];
        Reference::of(part, words, times.into_iter().chain(more.iter().copied()))
    };
    ROWS.into_iter().map(reference).collect()
}
