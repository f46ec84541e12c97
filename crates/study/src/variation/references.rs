//! Published figures, to stand beside ours.

use super::figures::NETWORK;
use super::parts::RATES;
use crate::harness::Reference;

/// Network delay at 10, 20, 30 and 40 requests per second, ms, by server (Table II).
const TABLE_II: [(&str, [f64; 4]); 3] =
    [("B", [1.48, 1.47, 1.51, 2.05]), ("C", [1.47, 1.46, 1.54, 1.61]), ("D", [1.43, 1.56, 1.55, 1.81])];

pub(super) fn references() -> Vec<Reference> {
    let delays = TABLE_II.iter().map(|(server, delays)| Reference {
        part: RATES.to_owned(),
        words: format!("server {server} at 10, 20, 30 and 40/s (Table II)"),
        figures: delays.iter().map(|delay| (NETWORK.to_owned(), *delay)).collect(),
    });
    delays.collect()
}
