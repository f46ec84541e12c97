//! The study of hosts that share storage: the published experiments, on the virtual clock or in real time.
//!
//! `study` is what the harness makes; `live` is a run in real time, with a process for each host and `fio` as their clients. All else is
//! pure: `parts` is a part for each published experiment, `record` turns the trace of a run into figures and series, `judge` says what the
//! runs come to beside the published figures.

pub(crate) mod figures;
pub mod fio;
mod judge;
mod live;
mod parts;
mod record;
mod study;

pub use figures::FIGURES;
pub use judge::judge;
pub use parts::{Setting, parts, scaled};
pub use record::record;
pub use study::Shares;

use crate::harness::Order;
use crate::published::{PublishedError, Result};
use evenkeel_core::share::experiment::Treatment;

/// The study's name in plans and on the command line.
pub const NAME: &str = "shares";

pub const QUESTION: &str =
    "do hosts that share storage get their shares, and does its latency stay at a threshold?";

/// Seconds between two windows in the published experiments.
pub const PUBLISHED_S: f64 = 2.0;

pub fn words(way: Treatment) -> &'static str {
    match way {
        Treatment::Uncontrolled => "uncontrolled",
        Treatment::Parda => "the published law",
        Treatment::Evenkeel => "Evenkeel",
    }
}

pub fn way(name: &str) -> Option<Treatment> {
    Treatment::ALL.into_iter().find(|way| way.name() == name)
}

pub(crate) fn way_of(order: &Order<'_>) -> Result<Treatment> {
    let unknown = || PublishedError::unreadable("way");
    way(order.level("way")).ok_or_else(unknown)
}

/// A part in percent with its sign, which what is next to nothing has not.
pub fn signed(percent: f64) -> String {
    if percent.abs() < 0.05 { "0.0".to_owned() } else { format!("{percent:+.1}") }
}
