//! One study against another, or levels of one.

use super::error::CompareError;
use super::figure::Figure;
use super::found::{Carried, Condition, Found, Statement};
use super::matched;
use super::settling::{Parted, Relation, Settling, relation};
use super::side::Side;
use crate::profile::is_same_rate;
use crate::store::format::{BoundsRecord, CellSummary};
use evenkeel_core::experiment::{self, Comparison, Margin, Pair};

/// Rates that differ by at most this share are nearly the same.
const NEAR: f64 = 0.1;

/// Overload of each series that both have. A series that was overloaded in one study only has no such figure in the other; it tells
/// all the same where the other carried a rate that it did not.
pub(super) fn in_overload(first: &Side, second: &Side) -> Result<Found, CompareError> {
    let mut found = Found::default();
    for (label, one, other) in matched::series(first, second, &mut found.left_out)? {
        let pair = Pair { first: first.overload(one), second: second.overload(other) };
        let lacking =
            [(first, &pair.first), (second, &pair.second)].into_iter().find(|(_, runs)| runs.is_empty());
        let Some((side, _)) = lacking else {
            found.conditions.push(Condition { label, rate_per_s: None, pair, by_itself: None });
            continue;
        };
        let before = found.parted.len();
        for (own, its) in common_cells((first, one), (second, other)) {
            let cells =
                [Settling::of(first, own, Figure::Throughput), Settling::of(second, its, Figure::Throughput)];
            if let Relation::Parted(side, runs) = relation(&cells[0], &cells[1]) {
                found.parted.push(Parted { label: label.clone(), rate_per_s: own.rate_per_s, side, runs });
            }
        }
        if found.parted.len() == before {
            let carried = carried((first, one), (second, other), &label);
            let none = || CompareError::NoOverload { study: side.name().to_owned() };
            found.carried.push(carried.ok_or_else(none)?);
        }
    }
    Ok(found)
}

/// The one whose bounds begin above the end of the other's.
fn carried((first, one): (&Side, usize), (second, other): (&Side, usize), label: &str) -> Option<Carried> {
    let (first, second) = (first.bounds(one)?, second.bounds(other)?);
    let apart = |low: &BoundsRecord, high: &BoundsRecord| {
        low.at_most_per_s.zip(high.at_least_per_s).filter(|(at_most, at_least)| at_most < at_least)
    };
    let better = apart(first, second).map(|found| (experiment::Side::Better, found));
    let (side, (at_most, at_least)) =
        better.or_else(|| apart(second, first).map(|found| (experiment::Side::Worse, found)))?;
    Some(Carried { label: label.to_owned(), side, at_most, at_least })
}

/// CPU time for a request at rates that are nearly the same. At others it cannot be compared: it falls with the rate, since what a
/// server does by itself is divided by more requests.
pub(super) fn cpu(first: &Side, second: &Side) -> Result<Found, CompareError> {
    let (mut found, mut common) = (Found::default(), 0);
    for (label, one, other) in matched::series(first, second, &mut found.left_out)? {
        for (own, its) in near_cells((first, one), (second, other)) {
            common += 1;
            let pair =
                Pair { first: first.figures(own, Figure::Cpu), second: second.figures(its, Figure::Cpu) };
            if !pair.first.is_empty() && !pair.second.is_empty() {
                found.add(&label, own.rate_per_s, Relation::Alike, || pair);
            }
        }
    }
    found.leave_out_single_runs();
    match found.conditions.len() {
        0 if common == 0 => Err(no_common_rate(first, second, 0, found.left_out)),
        0 => Err(CompareError::NoFigure { figure: Figure::Cpu.words() }),
        _ => Ok(found),
    }
}

/// Each statement by itself, at the rates that both carried.
pub(super) fn statements(first: &Side, second: &Side, figure: Figure, margin: Margin) -> Vec<Statement> {
    let series = matched::series(first, second, &mut Vec::new()).unwrap_or_default();
    let cells = series.into_iter().flat_map(|(_, one, other)| common_cells((first, one), (second, other)));
    let alike = |(own, its): &(&CellSummary, &CellSummary)| {
        let settling =
            (Settling::of(first, own, Figure::Response), Settling::of(second, its, Figure::Response));
        matches!(relation(&settling.0, &settling.1), Relation::Alike)
    };
    let cells: Vec<_> = cells.filter(alike).collect();
    let pairs = |name: &str| -> Vec<Pair> {
        let pair = |(own, its): &(&CellSummary, &CellSummary)| Pair {
            first: first.of_statement(own, name, figure),
            second: second.of_statement(its, name, figure),
        };
        cells.iter().map(pair).filter(|pair| pair.first.len().min(pair.second.len()) > 1).collect()
    };
    let found: Vec<(&str, Vec<Pair>)> =
        first.statements().into_iter().map(|name| (name, pairs(name))).collect();
    let questions = found.iter().filter(|(_, pairs)| !pairs.is_empty()).count();
    let statement = |(name, pairs): (&str, Vec<Pair>)| {
        let comparison = Comparison::one_of(questions, &pairs, margin, Figure::Response.better())?;
        let mean = |side: fn(&Pair) -> &Vec<f64>| {
            let all: Vec<f64> = pairs.iter().flat_map(side).copied().collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let means_ms = (mean(|pair| &pair.first), mean(|pair| &pair.second));
        Some(Statement { name: name.to_owned(), comparison, means_ms })
    };
    // Of a single one the whole says it.
    if questions > 1 { found.into_iter().filter_map(statement).collect() } else { Vec::new() }
}

/// Response times at the rates that both have.
pub(super) fn at_common_rates(first: &Side, second: &Side, figure: Figure) -> Result<Found, CompareError> {
    let (mut found, mut common) = (Found::default(), 0);
    for (label, one, other) in matched::series(first, second, &mut found.left_out)? {
        for (own, its) in common_cells((first, one), (second, other)) {
            common += 1;
            let relation = relation(&Settling::of(first, own, figure), &Settling::of(second, its, figure));
            let pair = || Pair { first: first.figures(own, figure), second: second.figures(its, figure) };
            found.add(&label, own.rate_per_s, relation, pair);
        }
    }
    found.leave_out_single_runs();
    if found.conditions.is_empty() && found.parted.is_empty() && found.leaning.is_empty() {
        return Err(no_common_rate(first, second, common, found.left_out));
    }
    Ok(found)
}

fn no_common_rate(first: &Side, second: &Side, common: usize, left_out: Vec<String>) -> CompareError {
    let (levels, rates) = (first.name() == second.name(), first.settled_rates());
    CompareError::NoCommonRate { common, levels, rates, left_out }
}

/// Cells of a series of each study at nearly the same rate, each with the nearest of the other study and none twice.
fn near_cells<'a>(
    (first, one): (&'a Side, usize),
    (second, other): (&'a Side, usize),
) -> impl Iterator<Item = (&'a CellSummary, &'a CellSummary)> {
    first.cells_of(one).filter_map(move |own| {
        let its = nearest(second, other, own.rate_per_s)?;
        let back = nearest(first, one, its.rate_per_s)?;
        let apart = (own.rate_per_s - its.rate_per_s).abs();
        (back.cell == own.cell && apart <= NEAR * own.rate_per_s.max(its.rate_per_s)).then_some((own, its))
    })
}

fn nearest(side: &Side, series: usize, rate: f64) -> Option<&CellSummary> {
    let apart = |cell: &CellSummary| (cell.rate_per_s - rate).abs();
    side.cells_of(series).min_by(|one, other| apart(one).total_cmp(&apart(other)))
}

/// Cells of a series of each study at the same rates.
fn common_cells<'a>(
    (first, one): (&'a Side, usize),
    (second, other): (&'a Side, usize),
) -> impl Iterator<Item = (&'a CellSummary, &'a CellSummary)> {
    first.cells_of(one).filter_map(move |own| {
        let its = second.cells_of(other).find(|cell| is_same_rate(cell.rate_per_s, own.rate_per_s))?;
        Some((own, its))
    })
}
