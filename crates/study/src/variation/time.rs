//! How long runs take, roughly.

use super::parts::{CLASS, CLASSES, POOL, WRITE};
use super::record::Setting;
use crate::harness::Part;

/// A server ends, starts and gets warm within so many seconds, besides the warm-up.
const START_S: f64 = 4.0;
/// Between two runs: figures are read, sessions opened.
const BETWEEN_S: f64 = 0.8;
/// Rows of a data set that come in within a second, one by one.
const ROWS_PER_S: f64 = 15_000.0;

/// Seconds that a run takes with its part of what comes before it.
pub fn takes_s(setting: &Setting, part: &Part) -> f64 {
    let servers = if setting.duet { setting.targets.len() as f64 } else { 1.0 };
    let combinations: usize =
        part.factors.iter().filter(|factor| factor.is_numeric()).map(|factor| factor.levels.len()).product();
    // Another pool takes another start; all else of a block is asked of one.
    let runs_of_start = match part.name.as_str() {
        POOL => 1.0,
        WRITE => f64::from(setting.runs_of_start.max(1)),
        CLASS => {
            f64::from(setting.runs_of_start.max(1))
                * CLASSES.iter().map(|(_, of)| of.len() as f64).sum::<f64>()
        }
        _ => f64::from(setting.runs_of_start.max(1)) * combinations.max(1) as f64,
    };
    setting.warm_up_s
        + setting.duration_s
        + BETWEEN_S
        + servers * (START_S + setting.warm_up_s) / runs_of_start
}

/// Seconds until the data of all private servers are in.
pub fn data_s(setting: &Setting, parts: &[Part]) -> f64 {
    let servers = setting.targets.iter().filter(|target| target.is_private()).count() as f64;
    // The layout fills each server a second time.
    let fills = if parts.len() > 1 { 2.0 } else { 1.0 };
    let rows = f64::from(setting.data.items) * 1.3 + f64::from(setting.data.ebs) * 30_000.0;
    servers * fills * (rows / ROWS_PER_S + 5.0)
}
