//! Words for what a larger buffer pool saves.

use super::{ABSENT, TimeUnit, estimate_beside, significant, time};
use evenkeel_study::profile::Reduction;

/// The difference with its interval, or what it is at least.
pub fn saved(reduction: &Reduction) -> String {
    let less = &reduction.less_ms;
    if reduction.at_least {
        return less.low.map_or_else(|| ABSENT.to_owned(), |low| format!("at least {}", signed(low)));
    }
    let unit = TimeUnit::suiting(less.mean.abs());
    format!("{} {}", estimate_beside(less, unit.per_ms()), unit.symbol())
}

/// The same in percent of the smallest pool's tau.
pub fn saved_percent(reduction: &Reduction) -> String {
    match reduction.at_least {
        true => ABSENT.to_owned(),
        false => significant(reduction.percent, 3),
    }
}

pub fn signed(ms: f64) -> String {
    if ms < 0.0 { format!("-{}", time(-ms)) } else { time(ms) }
}
