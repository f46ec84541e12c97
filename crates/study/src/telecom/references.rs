//! The published figures, as rates where sizes differ: 70 million records and 22 GB a day.

use super::parts::{DAYS, DISPATCH, EXPORT, LOAD};
use super::record::PUBLISHED_RECORDS;
use crate::harness::Reference;

const DAY: f64 = PUBLISHED_RECORDS as f64;
const DAY_MB: f64 = 22_000.0;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;

pub(super) fn references() -> Vec<Reference> {
    let rate = |part: &str, words: &str, records: f64, seconds: f64| Reference {
        part: part.to_owned(),
        words: words.to_owned(),
        figures: vec![("seconds".to_owned(), seconds), ("rows_per_s".to_owned(), records / seconds)],
    };
    let export_s = HOUR + 45.0 * MINUTE;
    let mut export = rate(EXPORT, "one thread, from the old database", DAY, export_s);
    export.figures.push(("mb_per_s".to_owned(), DAY_MB / export_s));
    vec![
        export,
        rate(LOAD, "InnoDB untuned, more than a day, so that rows per second are fewer", DAY, 24.0 * HOUR),
        rate(LOAD, "InnoDB tuned", DAY, 12.0 * HOUR + 32.0 * MINUTE),
        with_indexes("InnoDB plugin, indexes after", 42.0 * MINUTE, 107.0 * MINUTE),
        with_indexes("MyISAM, indexes after", 51.0 * MINUTE, 28.0 * MINUTE),
        rate(LOAD, "the old database", DAY, 8.0 * HOUR),
        rate(DISPATCH, "stored procedures, by one of its figures", 3.0 * DAY, 57.0 * MINUTE),
        rate(DISPATCH, "stored procedures, by the other one", 3.0 * DAY, 200.0 * MINUTE),
        rate(DAYS, "three days, separators added", 3.0 * DAY, 15.0 * HOUR + 20.0 * MINUTE),
        rate(DAYS, "three days, separators from the source (3 h 20 min less)", 3.0 * DAY, 12.0 * HOUR),
    ]
}

fn with_indexes(words: &str, load_s: f64, index_s: f64) -> Reference {
    let seconds = load_s + index_s;
    let figures =
        [("seconds", seconds), ("rows_per_s", DAY / seconds), ("load_s", load_s), ("index_s", index_s)];
    Reference {
        part: LOAD.to_owned(),
        words: words.to_owned(),
        figures: figures.map(|(name, value)| (name.to_owned(), value)).to_vec(),
    }
}
