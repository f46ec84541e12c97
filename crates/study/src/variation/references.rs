//! Published figures, to stand beside ours.

use super::figures::NETWORK;
use super::parts::RATES;
use crate::harness::Reference;

/// Requests that were generated at 10, 20, 30 and 40 per second, and their network delay, by server (Table II).
pub(super) const TABLE_II: [(&str, [f64; 4], [f64; 4]); 3] = [
    ("B", [1_755.0, 3_613.0, 5_488.0, 7_133.0], [1.48, 1.47, 1.51, 2.05]),
    ("C", [1_837.0, 3_513.0, 5_509.0, 7_175.0], [1.47, 1.46, 1.54, 1.61]),
    ("D", [1_857.0, 3_655.0, 5_481.0, 7_341.0], [1.43, 1.56, 1.55, 1.81]),
];

pub(super) fn references() -> Vec<Reference> {
    let delays = TABLE_II.iter().map(|(server, _, delays)| Reference {
        part: RATES.to_owned(),
        words: format!("server {server} at 10, 20, 30 and 40/s (Table II)"),
        figures: delays.iter().map(|delay| (NETWORK.to_owned(), *delay)).collect(),
    });
    delays.collect()
}
