//! A published study as tables: a line for each cell and figure, or for each run.
//!
//! Cells: `study, part, FACTOR ..., figure, runs, mean, se, low, high`. Runs: `study, part, FACTOR ..., repeat, started_unix_s`
//! and a column for each figure that some run has, by name. Parts need not have the same factors: all have a column, and are
//! empty where a part does not have it.

use super::Published;
use evenkeel_study::harness::{Cell, Part};
use std::collections::BTreeSet;

pub fn cells(view: &Published<'_>) -> String {
    let factors = factors(view);
    let head =
        [&["study", "part"], strs(&factors).as_slice(), &["figure", "runs", "mean", "se", "low", "high"]]
            .concat();
    let mut text = row(head.iter().map(|name| (*name).to_owned()));
    for cell in &view.cells {
        let keys: BTreeSet<&String> = cell.runs.iter().flat_map(|run| run.figures.keys()).collect();
        for key in keys {
            let Some(of) = cell.estimate(key) else { continue };
            let numbers = [Some(of.mean), of.standard_error(), of.low(), of.high()].map(number);
            let names = [key.clone(), of.n.to_string()];
            text.push_str(&row(place(view, cell, &factors).chain(names).chain(numbers)));
        }
    }
    text
}

pub fn runs(view: &Published<'_>) -> String {
    let factors = factors(view);
    let keys: BTreeSet<&String> = view.runs.iter().flat_map(|run| run.figures.keys()).collect();
    let names: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
    let head =
        [&["study", "part"], strs(&factors).as_slice(), &["repeat", "started_unix_s"], &names].concat();
    let mut text = row(head.iter().map(|name| (*name).to_owned()));
    for cell in &view.cells {
        for run in &cell.runs {
            let which = [run.repeat.to_string(), run.started_unix_s.to_string()];
            let figures = keys.iter().map(|key| number(run.figure(key)));
            text.push_str(&row(place(view, cell, &factors).chain(which).chain(figures)));
        }
    }
    text
}

fn factors(view: &Published<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for factor in view.plan.parts.iter().flat_map(|part: &Part| &part.factors) {
        if !names.contains(&factor.name) {
            names.push(factor.name.clone());
        }
    }
    names
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn place<'a>(
    view: &'a Published<'_>,
    cell: &'a Cell<'_>,
    factors: &'a [String],
) -> impl Iterator<Item = String> + 'a {
    let levels = factors.iter().map(|factor| cell.level(factor).to_owned());
    [view.plan.id.clone(), cell.part.name.clone()].into_iter().chain(levels)
}

/// An absent value is an empty field.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Names hold no comma, quote or line feed.
fn row(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join(",") + "\n"
}
