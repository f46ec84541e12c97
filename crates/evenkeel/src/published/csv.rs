//! A published study as tables: a line for each cell and figure, or for each run.
//!
//! Cells: `study, part, FACTOR ..., figure, runs, mean, se, low, high`. Runs: `study, part, FACTOR ..., repeat, started_unix_s`
//! and a column for each figure that some run has, by name. Parts need not have the same factors: all have a column, and are
//! empty where a part does not have it.

use super::{Published, estimates};
use crate::export::Columns;
use crate::format::distinct;
use evenkeel_study::harness::Cell;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn cells(view: &Published<'_>) -> String {
    let mut columns = identity(view);
    columns.own(&["figure", "runs", "mean", "se", "low", "high"]);
    let rows = view.cells.iter().flat_map(|cell| {
        estimates(cell).into_iter().map(move |(key, of)| {
            let mut row = row(view, cell);
            (row["figure"], row["runs"]) = (json!(key), json!(of.n));
            (row["mean"], row["se"]) = (json!(of.mean), json!(of.standard_error()));
            (row["low"], row["high"]) = (json!(of.low()), json!(of.high()));
            row
        })
    });
    columns.table(rows)
}

pub fn runs(view: &Published<'_>) -> String {
    let mut columns = identity(view);
    columns.own(&["repeat", "started_unix_s"]);
    let keys: BTreeSet<&String> = view.runs.iter().flat_map(|run| run.figures.keys()).collect();
    keys.into_iter().for_each(|key| columns.at(key, &["figures", key]));
    let rows = view.cells.iter().flat_map(|cell| {
        cell.runs.iter().map(move |run| {
            let mut row = row(view, cell);
            (row["repeat"], row["started_unix_s"]) = (json!(run.repeat), json!(run.started_unix_s));
            row["figures"] = json!(run.figures);
            row
        })
    });
    columns.table(rows)
}

fn identity(view: &Published<'_>) -> Columns {
    let mut columns = Columns::default();
    columns.own(&["study", "part"]);
    let factors = view.plan.parts.iter().flat_map(|part| &part.factors);
    for name in distinct(factors.map(|factor| factor.name.as_str())) {
        columns.at(name, &["levels", name]);
    }
    columns
}

/// What a line is of.
fn row(view: &Published<'_>, cell: &Cell<'_>) -> Value {
    let factors = cell.part.factors.iter();
    let levels: BTreeMap<&str, &str> =
        factors.map(|factor| (factor.name.as_str(), cell.level(&factor.name))).collect();
    json!({ "study": view.plan.id, "part": cell.part.name, "levels": levels })
}
