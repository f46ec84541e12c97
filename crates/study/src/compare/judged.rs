//! The verdict over all that was found.

use super::Criterion;
use super::found::{Carried, Condition, Found, Parted, Statement};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::experiment::{Comparison, Margin, Pair, Side, Verdict};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub figure: Criterion,
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
    figure: Criterion,
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
fn comparison(
    found: &mut Found,
    figure: Criterion,
    margin: Margin,
) -> Result<Option<Comparison>, CompareError> {
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

/// Why two things cannot be compared.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CompareError {
    #[error("the first study has {first} series and the second {second}")]
    Series {
        first: usize,
        /// Of the second.
        second: usize,
    },
    /// Nothing says what the server does at most.
    #[error("study {study} never reached its limit for certain, and the bounds of what both carry overlap")]
    NoOverload { study: String },
    /// No rate that both have tells anything of response times; or CPU per request without a rate that both have.
    #[error("{}", no_common_rate(*common, *levels, left_out))]
    NoCommonRate {
        common: usize,
        levels: bool,
        /// Rates of the first at which the response settled.
        rates: Vec<f64>,
        /// What does not take part, with the reason: rates that both have, and series that one of them has alone.
        left_out: Vec<String>,
    },
    /// Runs without an answer, or of a generator that failed.
    #[error(
        "there is no {figure} to compare: on one side the generator failed in all runs, nothing was \
         answered, or it was not measured"
    )]
    NoFigure { figure: &'static str },
    #[error(
        "CPU per request is not compared: other load took {taken_percent:.0} % of the CPUs, which changes what a request costs"
    )]
    Neighbours { taken_percent: f64 },
}

fn no_common_rate(common: usize, levels: bool, left_out: &[String]) -> String {
    let sides = if levels { "levels" } else { "studies" };
    let why = if left_out.is_empty() { String::new() } else { format!(" ({})", left_out.join("; ")) };
    match common {
        0 => format!("not comparable: no common rate of the two {sides}{why}"),
        _ => format!("response times cannot be compared at the rates that both {sides} have{why}"),
    }
}

impl CompareError {
    pub fn hint(&self) -> String {
        match self {
            Self::Series { .. } => "measure both with the same targets and levels".to_owned(),
            Self::NoOverload { .. } => {
                "measure it with --within, which goes into overload, or compare response times (--of response)"
                    .to_owned()
            }
            Self::NoCommonRate { common: 1.., .. } => {
                "measure both at rates at which their queues settle, for longer (--duration) and more often (--repeats), with a generator that keeps up (--generator-cpus)".to_owned()
            }
            Self::NoCommonRate { rates, .. } => {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                match rates.is_empty() {
                    true => "measure both with the same workload, data and rates".to_owned(),
                    false => format!("measure both at the same rates: --rate {} --repeats 5", rates.join(",")),
                }
            }
            Self::Neighbours { .. } => "stop the other load and measure both again".to_owned(),
            Self::NoFigure { .. } => {
                "`evenkeel report` says why: give the generator CPUs of its own (--generator-cpus), or \
                 measure the server's CPU use (--sense-with)".to_owned()
            }
        }
    }
}
