//! One cell against another.

use super::error::CompareError;
use super::figure::Figure;
use super::found::{Condition, Found};
use super::settling::{Parted, Relation, Settling, relation};
use super::side::Side;
use crate::profile::is_same_rate;
use crate::store::format::CellSummary;
use evenkeel_core::experiment::{self, Pair};

type Cell<'a> = (&'a Side, &'a CellSummary);

pub(super) fn found(first: Cell<'_>, second: Cell<'_>, figure: Figure) -> Result<Found, CompareError> {
    let one = Settling::of(first.0, first.1, figure);
    let other = Settling::of(second.0, second.1, figure);
    if figure == Figure::Throughput {
        return throughput(first, second, &one, &other);
    }
    if figure == Figure::Cpu {
        return Ok(condition(first, second, figure));
    }
    match relation(&one, &other) {
        Relation::Alike => Ok(condition(first, second, figure)),
        Relation::Parted(side, runs) => Ok(parted(first, second, side, runs)),
        Relation::Leaning(side, why) => {
            Ok(Found { leaning: vec![side], left_out: vec![why], ..Found::default() })
        }
        Relation::Doubtful(why) => Err(CompareError::Doubtful { why }),
    }
}

/// Of a server that is busy throughout it is what it can do; of one that is not it is what was asked for. So two busy ones are compared
/// as they are, and one that carried its rate does more than one that did not carry as little.
fn throughput(
    first: Cell<'_>,
    second: Cell<'_>,
    one: &Settling<'_>,
    other: &Settling<'_>,
) -> Result<Found, CompareError> {
    if one.is_refused() && other.is_refused() {
        return Ok(condition(first, second, Figure::Throughput));
    }
    let is_as_much = |much: Cell<'_>, little: Cell<'_>| {
        much.1.rate_per_s >= little.1.rate_per_s || is_same_rate(much.1.rate_per_s, little.1.rate_per_s)
    };
    match relation(one, other) {
        Relation::Parted(side @ experiment::Side::Worse, runs) if is_as_much(first, second) => {
            Ok(parted(first, second, side, runs))
        }
        Relation::Parted(side @ experiment::Side::Better, runs) if is_as_much(second, first) => {
            Ok(parted(first, second, side, runs))
        }
        Relation::Doubtful(why) => Err(CompareError::Doubtful { why }),
        _ => Err(CompareError::NotBusy),
    }
}

fn condition(first: Cell<'_>, second: Cell<'_>, figure: Figure) -> Found {
    let pair = Pair { first: first.0.figures(first.1, figure), second: second.0.figures(second.1, figure) };
    let condition =
        Condition { label: String::new(), rate_per_s: rate(first, second), pair, by_itself: None };
    Found { conditions: vec![condition], ..Found::default() }
}

fn parted(first: Cell<'_>, second: Cell<'_>, side: experiment::Side, runs: (usize, usize)) -> Found {
    let parted = Parted { label: String::new(), rate_per_s: rate(first, second), side, runs };
    Found { parted: vec![parted], ..Found::default() }
}

fn rate(first: Cell<'_>, second: Cell<'_>) -> Option<f64> {
    is_same_rate(first.1.rate_per_s, second.1.rate_per_s).then_some(first.1.rate_per_s)
}
