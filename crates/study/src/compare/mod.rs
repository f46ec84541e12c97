//! One study against another, or one cell against another: is the second better, worse, or the same?
//!
//! What is compared is runs with runs under the same conditions: throughput in overload, where a server does all that it can, or
//! response times at the rates that both were asked for. What else differs between the two is not judged here; that they were
//! asked different things is told.

mod error;
mod figure;
mod levels;
mod matched;
mod side;

pub use error::CompareError;
pub use figure::Figure;
pub use levels::{LevelPair, level_pairs};
pub use side::{CellName, Side};

use crate::profile::is_same_rate;
use crate::store::format::{CellSummary, Verdict};
use evenkeel_core::experiment::{Comparison, Margin, Pair};

/// Runs of both sides under one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Series, where a study has several.
    pub label: String,
    /// Arrival rate; `None` where it is overload, at whatever rates.
    pub rate_per_s: Option<f64>,
    /// Figure of each run: per second, or ms.
    pub pair: Pair,
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
    /// Over all conditions, each with the same weight.
    pub comparison: Comparison,
    /// What of both does not take part, rates and series, with the reason.
    pub left_out: Vec<String>,
    /// What was asked of the two, where it is not the same.
    pub unlike: Vec<String>,
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
    let mut left_out = Vec::new();
    let conditions = match (first.cell(), second.cell()) {
        (Some(one), Some(other)) => vec![of_cells(first, one, second, other, figure)],
        (None, None) if figure == Figure::Throughput => in_overload(first, second, &mut left_out)?,
        (None, None) => at_common_rates(first, second, figure, &mut left_out)?,
        _ => return Err(CompareError::CellAndStudy),
    };
    let pairs: Vec<Pair> = conditions.iter().map(|condition| condition.pair.clone()).collect();
    let comparison = Comparison::of(&pairs, margin, figure.better())
        .ok_or(CompareError::NoFigure { figure: figure.name() })?;
    Ok(Compared { figure, margin, conditions, comparison, left_out, unlike: matched::unlike(first, second) })
}

fn of_cells(
    first: &Side,
    one: &CellSummary,
    second: &Side,
    other: &CellSummary,
    figure: Figure,
) -> Condition {
    Condition {
        label: String::new(),
        rate_per_s: is_same_rate(one.rate_per_s, other.rate_per_s).then_some(one.rate_per_s),
        pair: Pair { first: first.figures(one, figure), second: second.figures(other, figure) },
    }
}

/// Overload of each series that both have.
fn in_overload(
    first: &Side,
    second: &Side,
    left_out: &mut Vec<String>,
) -> Result<Vec<Condition>, CompareError> {
    let mut found = Vec::new();
    for (label, one, other) in matched::series(first, second, left_out)? {
        let pair = Pair { first: first.overload(one), second: second.overload(other) };
        for (side, runs) in [(first, &pair.first), (second, &pair.second)] {
            if runs.is_empty() {
                return Err(CompareError::NoOverload { study: side.name().to_owned() });
            }
        }
        found.push(Condition { label, rate_per_s: None, pair });
    }
    Ok(found)
}

fn at_common_rates(
    first: &Side,
    second: &Side,
    figure: Figure,
    left_out: &mut Vec<String>,
) -> Result<Vec<Condition>, CompareError> {
    let mut found = Vec::new();
    for (label, one, other) in matched::series(first, second, left_out)? {
        for own in first.cells_of(one) {
            let Some(its) = second.cells_of(other).find(|cell| is_same_rate(cell.rate_per_s, own.rate_per_s))
            else {
                continue;
            };
            if let Some(why) = [own, its].into_iter().find_map(doubtful) {
                left_out.push(format!("{} requests/s: {why}", own.rate_per_s));
                continue;
            }
            let pair = Pair { first: first.figures(own, figure), second: second.figures(its, figure) };
            found.push(Condition { label: label.clone(), rate_per_s: Some(own.rate_per_s), pair });
        }
    }
    leave_out_single_runs(&mut found, left_out);
    if found.is_empty() {
        return Err(CompareError::NoCommonRate { rates: first.settled_rates(), left_out: left_out.clone() });
    }
    Ok(found)
}

/// A rate of which one side has a single run does not tell how much runs differ, and would take the interval from all; where others do,
/// it takes no part.
fn leave_out_single_runs(found: &mut Vec<Condition>, left_out: &mut Vec<String>) {
    let tells = |condition: &Condition| condition.pair.first.len().min(condition.pair.second.len()) > 1;
    if !found.iter().any(tells) {
        return;
    }
    found.retain(|condition| {
        if !tells(condition) {
            let rate = condition.rate_per_s.unwrap_or_default();
            left_out.push(format!("{rate} requests/s: one side has fewer than two runs that count"));
        }
        tells(condition)
    });
}

/// Why response times of a cell cannot be compared.
fn doubtful(cell: &CellSummary) -> Option<&'static str> {
    match () {
        () if !cell.valid => Some("the generator failed"),
        () if cell.lower_bound => Some("requests were given up, so that response times are lower bounds"),
        () if matches!(cell.stability, Verdict::Unstable | Verdict::Mixed) => {
            Some("the queue did not settle, so that response times grow with the run")
        }
        () => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
