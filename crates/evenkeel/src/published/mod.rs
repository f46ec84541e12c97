//! A published study made again, for people and programs: whatever it is of.
//!
//! `table` is the terminal's view, `json` and `csv` those of programs; the page is `report::published`.

mod json;
mod table;

pub use json::results;
pub use json::{cells as cells_csv, runs as runs_csv};
pub use table::{number_words, plus_minus, share_words, shown, study as table};

use evenkeel_core::statistics::Estimate;
use evenkeel_study::harness::{Cell, Figure, Judgement, Part, Plan, Run, cells};
use std::collections::{BTreeMap, BTreeSet};

pub struct Published<'a> {
    pub plan: &'a Plan,
    pub runs: &'a [Run],
    pub cells: Vec<Cell<'a>>,
    /// The figures that its runs have, in the order of the tables.
    pub figures: &'static [Figure],
    pub said: Judgement,
}

impl<'a> Published<'a> {
    pub fn new(plan: &'a Plan, runs: &'a [Run], figures: &'static [Figure], mut said: Judgement) -> Self {
        if runs.is_empty() {
            "Nothing has been measured yet.".clone_into(&mut said.headline);
        }
        // Runs in which nothing happened have nothing to show.
        let has_any = |cell: &Cell<'_>| {
            cell.runs.iter().any(|run| !run.figures.is_empty() || !run.series.rows.is_empty())
        };
        let cells = cells(plan, runs).into_iter().filter(has_any).collect();
        Self { plan, runs, cells, figures, said }
    }

    pub fn cells_of(&self, part: &Part) -> Vec<&Cell<'a>> {
        self.cells.iter().filter(|cell| cell.part.name == part.name).collect()
    }

    /// Published figures of a part, a line for each combination of levels: `uncontrolled, published: 3,360 I/Os 1/s; ...`.
    pub fn references_of(&self, part: &Part) -> impl Iterator<Item = String> + '_ {
        let name = part.name.clone();
        let of_part = self.said.references.iter().filter(move |reference| reference.part == name);
        of_part.map(|reference| {
            let figures = reference.figures.iter().filter_map(|(key, value)| {
                let (key, host) = split(key);
                let figure = self.figures.iter().find(|figure| figure.key == key)?;
                let host = if host.is_empty() { String::new() } else { format!(" of host {host}") };
                let text =
                    format!("{}{host} {} {}", figure.head[0], crate::format::short(*value), figure.head[1]);
                Some(text.trim_end().to_owned())
            });
            format!("{}, published: {}", reference.words, figures.collect::<Vec<_>>().join("; "))
        })
    }

    /// The figures that any of these cells has, for any of its hosts.
    pub fn known(&self, of: &[&Cell<'_>]) -> Vec<&'static Figure> {
        let has = |figure: &&Figure| {
            let is_it = |key: &String| split(key).0 == figure.key;
            of.iter().flat_map(|cell| &cell.runs).any(|run| run.figures.keys().any(is_it))
        };
        self.figures.iter().filter(has).collect()
    }
}

/// A figure's name without the host that it is of, and the host; that is empty for the whole.
pub fn split(key: &str) -> (&str, &str) {
    key.split_once('@').unwrap_or((key, ""))
}

pub fn of_host(key: &str, host: &str) -> String {
    if host.is_empty() { key.to_owned() } else { format!("{key}@{host}") }
}

/// Hosts that figures of these cells are of; one empty name where there are none.
pub fn hosts(cells: &[&Cell<'_>]) -> Vec<String> {
    let runs = cells.iter().flat_map(|cell| &cell.runs);
    let named: BTreeSet<&str> = runs
        .flat_map(|run| run.figures.keys())
        .map(|key| split(key).1)
        .filter(|host| !host.is_empty())
        .collect();
    if named.is_empty() { vec![String::new()] } else { named.into_iter().map(str::to_owned).collect() }
}

/// All figures of a cell by name.
fn estimates<'a>(cell: &'a Cell<'_>) -> BTreeMap<&'a String, Estimate> {
    let keys = cell.runs.iter().flat_map(|run| run.figures.keys());
    keys.filter_map(|key| Some((key, cell.estimate(key)?))).collect()
}

/// Place of the factor that figures are drawn against: the last one that is numeric.
pub fn against(part: &Part) -> Option<usize> {
    part.factors.iter().rposition(evenkeel_study::harness::Factor::is_numeric)
}

/// What a cell is besides that factor, in words.
pub fn line(cell: &Cell<'_>) -> String {
    let against = against(cell.part);
    let others = cell.part.factors.iter().enumerate().filter(|(place, _)| Some(*place) != against);
    others.map(|(_, factor)| cell.words(&factor.name).to_owned()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
