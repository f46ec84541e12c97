//! What of two sides can be compared: conditions with runs of both, and rates that tell by themselves.

use super::settling::{Parted, Relation};
use evenkeel_core::experiment::{self, Comparison, Pair};

/// Runs of both sides under one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Series, where a study has several.
    pub label: String,
    /// Arrival rate of the first; `None` where it is overload, at whatever rates.
    pub rate_per_s: Option<f64>,
    /// Figure of each run: per second, or ms.
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
