//! What of two sides can be compared: conditions with runs of both, and rates that tell by themselves.

use super::side::{Criterion, Side};
use crate::store::format::{CellSummary, RunFile, Verdict};
use evenkeel_core::experiment::{self, Comparison, Pair};

/// Runs of both sides under one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Series, where a study has several.
    pub label: String,
    /// Arrival rate of the first; `None` where it is overload, at whatever rates.
    pub rate_per_s: Option<f64>,
    /// Criterion of each run: per second, or ms.
    pub pair: Pair,
    /// Of several conditions, whether the second is better or worse under this one whatever it is under the others.
    pub by_itself: Option<experiment::Side>,
}

/// What two sides carry, where the bounds of the one end before those of the other begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// Series, where a study has several.
    pub label: String,
    /// Whether the second carries more, or less.
    pub side: experiment::Side,
    /// What the one carries at most, per second.
    pub at_most: f64,
    /// What the other carries at least.
    pub at_least: f64,
}

/// A statement of the mix, at the rates that both sides have.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub name: String,
    /// Times from the sending to the last answer; *better* and *worse* have the risk of all statements together.
    pub comparison: Comparison,
    /// What it took in the mean of the first and of the second, ms.
    pub means_ms: (f64, f64),
}

/// What of two sides can be compared.
#[derive(Default)]
pub(super) struct Found {
    pub conditions: Vec<Condition>,
    pub parted: Vec<Parted>,
    /// Rates that one side carried in all runs and the other not in all, so that they forbid a verdict that passes over them.
    pub leaning: Vec<experiment::Side>,
    /// Series of which one side carries more at least than the other at most.
    pub carried: Vec<Carried>,
    pub left_out: Vec<String>,
}

impl Found {
    /// What a rate comes to that both were asked for.
    pub fn add(&mut self, label: &str, rate: f64, relation: Relation, pair: impl FnOnce() -> Pair) {
        let label = label.to_owned();
        match relation {
            Relation::Alike => {
                let rate_per_s = Some(rate);
                self.conditions.push(Condition { label, rate_per_s, pair: pair(), by_itself: None });
            }
            Relation::Parted(side, runs) => {
                self.parted.push(Parted { label, rate_per_s: rate, side, runs });
            }
            Relation::Leaning(side, why) => {
                self.leaning.push(side);
                self.left_out.push(format!("{rate} requests/s: {why}"));
            }
            Relation::Doubtful(why) => self.left_out.push(format!("{rate} requests/s: {why}")),
        }
    }

    /// A rate of which one side has a single run does not tell how much runs differ, and would take the interval from all; where others
    /// do, it takes no part.
    pub fn leave_out_single_runs(&mut self) {
        let tells = |condition: &Condition| condition.pair.first.len().min(condition.pair.second.len()) > 1;
        if !self.conditions.iter().any(tells) {
            return;
        }
        let left_out = &mut self.left_out;
        self.conditions.retain(|condition| {
            if !tells(condition) {
                let rate = condition.rate_per_s.unwrap_or_default();
                left_out.push(format!("{rate} requests/s: one side has fewer than two runs that count"));
            }
            tells(condition)
        });
    }
}

/// Fewer runs on a side do not tell that it carries a rate, or does not.
///
/// Near the limit of a server a run settles by chance, so that two that are alike may part by chance as well: where a run settles in
/// every second case, two runs against two do so in 1 of 16 pairs, three against three in 1 of 64. Rates so near the limit are few.
const RUNS_MIN: usize = 2;

/// A rate that one side carried in all of its runs and the other in none.
#[derive(Clone, Debug, PartialEq)]
pub struct Parted {
    /// Series, where a study has several.
    pub label: String,
    /// Arrival rate.
    pub rate_per_s: f64,
    /// Whether the second is better, for it carried the rate, or worse.
    pub side: experiment::Side,
    /// Runs that count, of the first and of the second.
    pub runs: (usize, usize),
}

/// What the runs of a cell say of its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling<'a> {
    cell: &'a CellSummary,
    /// Runs in which the generator did not fail.
    runs: usize,
    settled: usize,
    /// Runs whose queue did not settle, or that gave requests up.
    refused: usize,
    gave_up: usize,
}

/// What two cells are to one another.
pub(super) enum Relation {
    /// Both have figures to compare.
    Alike,
    /// One carried the rate in all runs, the other in none.
    Parted(experiment::Side, (usize, usize)),
    /// One carried it in all runs, and of the other it is not certain; in words.
    Leaning(experiment::Side, String),
    /// Neither has a figure that tells anything; in words.
    Doubtful(&'static str),
}

impl<'a> Settling<'a> {
    pub fn of(side: &Side, cell: &'a CellSummary, figure: Criterion) -> Self {
        let runs: Vec<&RunFile> = side.standing(cell).collect();
        let count = |is: &dyn Fn(&RunFile) -> bool| runs.iter().filter(|run| is(run)).count();
        // Requests that are given up make response times lower bounds; what a server carries, it carries.
        let gave_up = |run: &RunFile| run.lower_bound && figure != Criterion::Throughput;
        Self {
            cell,
            runs: runs.len(),
            settled: count(&|run| run.stability == Verdict::Settled && !gave_up(run)),
            refused: count(&|run| run.stability == Verdict::Unstable || gave_up(run)),
            gave_up: count(&gave_up),
        }
    }

    /// Whether it carried its rate in all runs, so that its throughput is that of its arrivals.
    pub fn is_settled(&self) -> bool {
        self.runs > 0 && self.settled == self.runs
    }

    /// Whether the server was busy throughout in all runs.
    pub fn is_refused(&self) -> bool {
        self.runs > 0 && self.refused == self.runs
    }

    fn doubt(&self) -> Option<&'static str> {
        match () {
            () if self.runs == 0 || !self.cell.valid => Some("the generator failed"),
            () if self.gave_up > 0 => Some("requests were given up, so that response times are lower bounds"),
            () if self.refused > 0 => {
                Some("the queue did not settle, so that response times grow with the run")
            }
            () => None,
        }
    }

    fn has_failed(&self) -> bool {
        self.runs == 0 || !self.cell.valid
    }
}

pub(super) fn relation(first: &Settling<'_>, second: &Settling<'_>) -> Relation {
    match (first.doubt(), second.doubt()) {
        (None, None) => Relation::Alike,
        (Some(why), _) if first.has_failed() => Relation::Doubtful(why),
        (_, Some(why)) if second.has_failed() => Relation::Doubtful(why),
        (Some(why), Some(_)) => Relation::Doubtful(why),
        (None, Some(why)) => one_sided(first, second, experiment::Side::Worse, why, (first, second)),
        (Some(why), None) => one_sided(second, first, experiment::Side::Better, why, (first, second)),
    }
}

/// One has no doubtful run, the other has.
fn one_sided(
    carried: &Settling<'_>,
    other: &Settling<'_>,
    side: experiment::Side,
    why: &'static str,
    (first, second): (&Settling<'_>, &Settling<'_>),
) -> Relation {
    if !carried.is_settled() {
        return Relation::Doubtful(why);
    }
    if other.is_refused() && carried.runs.min(other.runs) >= RUNS_MIN {
        return Relation::Parted(side, (first.runs, second.runs));
    }
    let (whose, others) = match side {
        experiment::Side::Worse => ("second", "first"),
        experiment::Side::Better => ("first", "second"),
    };
    Relation::Leaning(
        side,
        format!(
            "the {whose} did not settle in {} of its {} runs, and the {others} settled in all {}: more runs \
             would decide",
            other.refused, other.runs, carried.runs
        ),
    )
}
