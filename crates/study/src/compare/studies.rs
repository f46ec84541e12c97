//! One study against another, or levels of one.

use super::error::CompareError;
use super::figure::Figure;
use super::found::{Condition, Found};
use super::matched;
use super::settling::{Parted, Relation, Settling, relation};
use super::side::Side;
use crate::profile::is_same_rate;
use crate::store::format::CellSummary;
use evenkeel_core::experiment::Pair;

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
                found.parted.push(Parted {
                    label: label.clone(),
                    rate_per_s: Some(own.rate_per_s),
                    side,
                    runs,
                });
            }
        }
        if found.parted.len() == before {
            return Err(CompareError::NoOverload { study: side.name().to_owned() });
        }
    }
    Ok(found)
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
        let (rates, left_out) = (first.settled_rates(), found.left_out);
        let levels = first.name() == second.name();
        return Err(CompareError::NoCommonRate { common, levels, rates, left_out });
    }
    Ok(found)
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
