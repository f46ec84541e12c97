//! One study against another, or one cell against another: is the second better, worse, or the same?
//!
//! What is compared is runs with runs under the same conditions: throughput in overload, where a server does all that it can, or
//! response times at the rates that both were asked for. A rate that one side carried and the other did not has no response time to
//! compare, and says more than any: it is a finding of its own. What else differs between the two is not judged here; that they
//! were asked different things is told.

mod cells;
mod error;
mod figure;
mod judged;
mod levels;
mod matched;
mod settling;
mod side;
mod studies;

pub use error::CompareError;
pub use figure::Figure;
pub use levels::{LevelPair, level_pairs};
pub use settling::Parted;
pub use side::{CellName, Side};

use evenkeel_core::experiment::{self, Comparison, Margin, Pair, Verdict};

/// Runs of both sides under one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Series, where a study has several.
    pub label: String,
    /// Arrival rate; `None` where it is overload, at whatever rates.
    pub rate_per_s: Option<f64>,
    /// Figure of each run: per second, or ms.
    pub pair: Pair,
    /// Of several conditions, whether the second is better or worse under this one whatever it is under the others.
    pub by_itself: Option<experiment::Side>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What was compared.
    pub figure: Figure,
    /// Within it, two figures count as the same.
    pub margin: Margin,
    /// Runs of both sides.
    pub conditions: Vec<Condition>,
    /// Rates that one side carried in all of its runs, and the other in none.
    pub parted: Vec<Parted>,
    /// Over all conditions, each with the same weight; `None` without any.
    pub comparison: Option<Comparison>,
    /// What follows from all of it.
    pub verdict: Verdict,
    /// What of both does not take part, rates and series, with the reason.
    pub left_out: Vec<String>,
    /// What was asked of the two, where it is not the same.
    pub unlike: Vec<String>,
}

/// What of two sides can be held against one another.
#[derive(Default)]
struct Found {
    conditions: Vec<Condition>,
    parted: Vec<Parted>,
    /// Rates that one side carried in all runs and the other not in all, so that they forbid a verdict that passes over them.
    leaning: Vec<experiment::Side>,
    left_out: Vec<String>,
}

/// Compares the second side to the first.
///
/// # Errors
/// They have nothing in common that could be compared.
pub fn compare(
    first: &Side,
    second: &Side,
    figure: Figure,
    margin: Margin,
) -> Result<Compared, CompareError> {
    let found = match (first.cell(), second.cell()) {
        (Some(one), Some(other)) => cells::found((first, one), (second, other), figure)?,
        (None, None) if figure == Figure::Throughput => studies::in_overload(first, second)?,
        (None, None) => studies::at_common_rates(first, second, figure)?,
        _ => return Err(CompareError::CellAndStudy),
    };
    judged::of(found, figure, margin, matched::unlike(first, second))
}

#[cfg(test)]
pub(crate) mod tests;
