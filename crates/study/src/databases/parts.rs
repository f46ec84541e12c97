//! Which runs the study has: every way at each most window.

use super::record::Setting;
use crate::harness::{Factor, Part};
use crate::shares::words;
use evenkeel_core::share::experiment::Treatment;

/// Before the most window in the name of a part.
const MOST: &str = "most-";

/// A part for each most window.
pub fn parts(setting: &Setting, windows: &[u32], ways: &[Treatment], rounds: u32) -> Vec<Part> {
    let part = |most: &u32| {
        let (name, title) = (format!("{MOST}{most}"), format!("windows of at most {most}"));
        let ways = Factor::named("way", ways.iter().map(|way| (way.name(), words(*way))));
        let about = "The charts are of the first round of each way.";
        let marks = vec![(setting.warm_up_s, "measured".to_owned())];
        Part { marks, ..Part::new(&name, &title, about, vec![ways], rounds) }
    };
    windows.iter().map(part).collect()
}

/// The most window of a part; `None` of one that is not of this study.
pub fn most(part: &Part) -> Option<u32> {
    part.name.strip_prefix(MOST)?.parse().ok()
}
