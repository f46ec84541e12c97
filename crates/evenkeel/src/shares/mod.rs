//! The study of hosts that share storage, as data: what is planned, and what its runs come to.
//!
//! `parts` is a part for each published experiment, `record` turns the trace of a run into figures and series, `judge` says what the
//! runs come to beside the published figures.

mod figures;
mod judge;
mod parts;
mod record;

pub use figures::FIGURES;
pub use judge::judge;
pub use parts::{Setting, parts, scaled};
pub use record::record;

use evenkeel_core::share::experiment::Way;

/// Its name.
pub const NAME: &str = "shares";

/// Seconds between two windows in the published experiments.
pub const PUBLISHED_S: f64 = 2.0;

/// A way in words.
pub fn words(way: Way) -> &'static str {
    match way {
        Way::Uncontrolled => "uncontrolled",
        Way::Parda => "the published law",
        Way::Evenkeel => "Evenkeel",
    }
}

/// The way of this name.
pub fn way(name: &str) -> Option<Way> {
    Way::ALL.into_iter().find(|way| way.name() == name)
}

/// A part in percent with its sign, which what is next to nothing has not.
pub fn signed(percent: f64) -> String {
    if percent.abs() < 0.05 { "0.0".to_owned() } else { format!("{percent:+.1}") }
}

#[cfg(test)]
mod tests;
