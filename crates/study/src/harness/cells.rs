//! Runs of one combination of levels as one: means with their spread.

use super::plan::{Part, Plan};
use super::run::Run;
use evenkeel_core::statistics::Estimate;

/// A combination of levels over its repeats.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Where it belongs.
    pub part: &'a Part,
    pub levels: &'a [String],
    pub runs: Vec<&'a Run>,
}

impl Cell<'_> {
    pub fn values(&self, figure: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.figure(figure)).collect()
    }

    /// Mean of a figure with its interval; `None` where no run has it.
    pub fn estimate(&self, figure: &str) -> Option<Estimate> {
        Estimate::of(&self.values(figure))
    }

    /// Mean of a figure.
    pub fn mean(&self, figure: &str) -> Option<f64> {
        self.estimate(figure).map(|estimate| estimate.mean)
    }

    /// The level of a factor; empty where the part has no such factor.
    pub fn level(&self, factor: &str) -> &str {
        self.part.place(factor).and_then(|place| self.levels.get(place)).map_or("", String::as_str)
    }

    pub fn number(&self, factor: &str) -> Option<f64> {
        self.level(factor).parse().ok()
    }

    pub fn words(&self, factor: &str) -> &str {
        let level = self.level(factor);
        let place = self.part.place(factor);
        let known =
            place.and_then(|place| self.part.factors[place].levels.iter().find(|known| known.name == level));
        known.map_or(level, super::plan::Level::words)
    }
}

pub fn cells<'a>(plan: &'a Plan, runs: &'a [Run]) -> Vec<Cell<'a>> {
    let mut found = Vec::new();
    for part in &plan.parts {
        for levels in part.combinations() {
            let mut of: Vec<&Run> =
                runs.iter().filter(|run| run.part == part.name && run.levels == levels).collect();
            of.sort_by_key(|run| run.repeat);
            if let Some(first) = of.first() {
                found.push(Cell { part, levels: &first.levels, runs: of });
            }
        }
    }
    found
}

/// The cell with these levels, in the order of the part's factors.
pub(crate) fn cell<'a, 'b>(cells: &'b [Cell<'a>], part: &str, levels: &[&str]) -> Option<&'b Cell<'a>> {
    cells.iter().find(|cell| cell.part.name == part && cell.levels == levels)
}

/// A figure at an instant, over repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    pub at_s: f64,
    /// Mean over the repeats.
    pub mean: f64,
    /// Least and largest of the repeats.
    pub range: (f64, f64),
}

/// What a figure did over time: row by row, over the repeats that have it then.
pub fn moments(cell: &Cell<'_>, figure: &str) -> Vec<Moment> {
    let runs: Vec<Vec<(f64, f64)>> = cell.runs.iter().map(|run| run.series.over_time(figure)).collect();
    let length = runs.iter().map(Vec::len).max().unwrap_or(0);
    let moment = |row: usize| {
        let at: Vec<(f64, f64)> = runs.iter().filter_map(|run| run.get(row).copied()).collect();
        let values: Vec<f64> = at.iter().map(|(_, value)| *value).collect();
        let range = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
        Some(Moment { at_s: at.first()?.0, mean: Estimate::of(&values)?.mean, range })
    };
    (0..length).filter_map(moment).collect()
}
