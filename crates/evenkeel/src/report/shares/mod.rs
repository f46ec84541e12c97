//! The study of shared storage with two databases as a page.

pub mod databases;

use crate::shares::signed;
use evenkeel_core::share::experiment::{Division, Outcome};

pub use crate::shares::words;

/// Periods to shares and the error of a share, in words.
pub fn division(outcome: &Outcome) -> (String, String) {
    match outcome.division {
        None => ("not judged".to_owned(), "-".to_owned()),
        Some(Division { periods, error }) => (
            periods.map_or("never".to_owned(), |periods| periods.to_string()),
            format!("{:.1} %", 100.0 * error),
        ),
    }
}

/// Most by which the latency was below the threshold while somebody was held back, and above it.
pub fn off(outcome: &Outcome) -> String {
    let under = outcome.under.map_or_else(|| "-".to_owned(), |under| signed(-100.0 * under));
    format!("{under} to {} %", signed(100.0 * outcome.over))
}
