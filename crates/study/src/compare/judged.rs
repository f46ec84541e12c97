//! The verdict over all that was found.

use super::found::{Carried, Condition, Found, Statement};
use super::settling::Parted;
use super::{CompareError, Figure};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::experiment::{Comparison, Margin, Pair, Side, Verdict};

#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub figure: Figure,
    /// Within it, two figures count as the same.
    pub margin: Margin,
    /// Runs of both sides.
    pub conditions: Vec<Condition>,
    /// Rates that one side carried in all of its runs, and the other in none.
    pub parted: Vec<Parted>,
    /// Series of which one side carries more at least than the other at most.
    pub carried: Vec<Carried>,
    /// Statements by themselves, where there are several.
    pub statements: Vec<Statement>,
    /// Over all conditions, each with the same weight; `None` without any.
    pub comparison: Option<Comparison>,
    pub verdict: Verdict,
    /// What of both does not take part, rates and series, with the reason.
    pub left_out: Vec<String>,
    /// What was asked of the two, where it is not the same.
    pub unlike: Vec<String>,
    /// Sides of which runs are still to come.
    pub caveats: Vec<Caveat>,
}

pub(super) fn of(
    mut found: Found,
    figure: Figure,
    margin: Margin,
    (unlike, caveats): (Vec<String>, Vec<Caveat>),
) -> Result<Compared, CompareError> {
    let comparison = comparison(&mut found, figure, margin)?;
    Ok(Compared {
        verdict: verdict(&found, comparison.as_ref()),
        figure,
        margin,
        conditions: found.conditions,
        parted: found.parted,
        carried: found.carried,
        statements: Vec::new(),
        comparison,
        left_out: found.left_out,
        unlike,
        caveats,
    })
}

/// `None` where there is no condition with figures of both.
fn comparison(found: &mut Found, figure: Figure, margin: Margin) -> Result<Option<Comparison>, CompareError> {
    if found.conditions.is_empty() {
        return Ok(None);
    }
    let pairs: Vec<Pair> = found.conditions.iter().map(|condition| condition.pair.clone()).collect();
    let comparison = Comparison::of(&pairs, margin, figure.better())
        .ok_or(CompareError::NoFigure { figure: figure.words() })?;
    for (condition, side) in found.conditions.iter_mut().zip(&comparison.each) {
        condition.by_itself = *side;
    }
    Ok(Some(comparison))
}

/// Worse where anything is. A rate that the first side carried in all runs and the second in some only forbids *the same* and
/// *better*, and the other way round *the same*: more runs tell on which side it is.
fn verdict(found: &Found, comparison: Option<&Comparison>) -> Verdict {
    let measured = comparison.map(|comparison| comparison.verdict);
    let parted = |side: Side| {
        found.parted.iter().any(|parted| parted.side == side)
            || found.carried.iter().any(|carried| carried.side == side)
    };
    let is_open = found.leaning.contains(&Side::Worse);
    match measured {
        _ if parted(Side::Worse) => Verdict::Worse,
        Some(Verdict::Worse) => Verdict::Worse,
        Some(Verdict::Better) if !is_open => Verdict::Better,
        _ if parted(Side::Better) && !is_open => Verdict::Better,
        Some(Verdict::Same) if found.leaning.is_empty() => Verdict::Same,
        Some(Verdict::NotKnown { runs_more }) => Verdict::NotKnown { runs_more },
        _ => Verdict::NotKnown { runs_more: None },
    }
}
