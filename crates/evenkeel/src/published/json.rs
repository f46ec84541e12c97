//! A published study for programs: findings with their numbers, cells with their spread.

use super::{Published, estimates};
use crate::export::Columns;
use crate::format::distinct;
use evenkeel_core::statistics::Estimate;
use evenkeel_core::why::Verdict;
use evenkeel_study::harness::{Cell, Finding, Mark, Matrix, Reference, Run, Share};
use evenkeel_study::store::Caveats;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn results(view: &Published<'_>) -> Value {
    let said = &view.said;
    json!({
        "study": view.plan.kind,
        "id": view.plan.id,
        "plan": view.plan,
        "headline": said.headline,
        "published": { "finding": said.published, "on": said.source },
        "findings": said.findings.iter().map(finding).collect::<Vec<_>>(),
        "verdicts": said.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        "components": said.components.iter().map(component).collect::<Vec<_>>(),
        "matrices": said.matrices.iter().map(matrix).collect::<Vec<_>>(),
        "references": said.references.iter().map(reference).collect::<Vec<_>>(),
        "sentences": said.sentences.iter().map(|(part, text)| json!({ "part": part, "text": text })).collect::<Vec<_>>(),
        "cells": view.cells.iter().map(cell).collect::<Vec<_>>(),
        "series": view.runs.iter().filter(|run| !run.series.columns.is_empty()).map(series).collect::<Vec<_>>(),
        "caveats": Caveats(&said.caveats),
    })
}

fn finding(finding: &Finding) -> Value {
    let numbers: Map<String, Value> = finding
        .numbers
        .iter()
        .map(|number| {
            let (low, high) = number.interval.unzip();
            (number.name.clone(), json!({ "value": number.value, "low": low, "high": high }))
        })
        .collect();
    json!({
        "name": finding.name, "part": finding.part, "outcome": finding.outcome.words(), "published": finding.published,
        "here": finding.here, "numbers": numbers,
    })
}

fn verdict(verdict: &Verdict) -> Value {
    let figure = verdict.figure.map(|figure| {
        let (low, high) = figure.interval.unzip();
        json!({ "name": figure.name, "value": figure.value, "low": low, "high": high })
    });
    json!({
        "suspect": verdict.suspect.word(), "verdict": verdict.ruling.words(), "evidence": verdict.evidence, "figure": figure,
    })
}

fn component(share: &Share) -> Value {
    let (low, high) = share.deviation.interval.unzip();
    json!({
        "level": share.level, "deviation_ms": share.deviation.value, "low": low, "high": high,
        "share_percent": share.percent, "units": share.units,
    })
}

/// A line for each place: its row and column by name.
fn matrix(matrix: &Matrix) -> Value {
    let place = |row: &String, (column, mark): (&String, &Option<Mark>)| {
        let Mark { number, is_strong } = mark.as_ref()?;
        let (low, high) = number.interval.unzip();
        Some(json!({
            "row": row, "column": column, "name": number.name, "value": number.value, "low": low, "high": high, "named": is_strong,
        }))
    };
    let row = |(row, places): &(String, Vec<Option<Mark>>)| -> Vec<Value> {
        matrix.columns.iter().zip(places).filter_map(|of| place(row, of)).collect()
    };
    json!({ "part": matrix.part, "title": matrix.title, "places": matrix.rows.iter().flat_map(row).collect::<Vec<_>>() })
}

fn reference(reference: &Reference) -> Value {
    let figures: Map<String, Value> =
        reference.figures.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({ "part": reference.part, "of": reference.words, "figures": figures })
}

/// The levels of a run or cell by factor, numeric ones as numbers.
fn levels(cell: &Cell<'_>) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("part".to_owned(), json!(cell.part.name));
    for factor in &cell.part.factors {
        let level = cell.level(&factor.name);
        let value = match cell.number(&factor.name).filter(|_| factor.is_numeric()) {
            // A whole number stays one.
            Some(number) if number.fract() == 0.0 => json!(number as i64),
            Some(number) => json!(number),
            None => json!(level),
        };
        map.insert(factor.name.clone(), value);
    }
    map
}

fn cell(cell: &Cell<'_>) -> Value {
    let figure = |(key, of): (&String, Estimate)| {
        let (se, low, high) = (of.standard_error(), of.low(), of.high());
        (key.clone(), json!({ "n": of.n, "mean": of.mean, "se": se, "low": low, "high": high }))
    };
    let figures: Map<String, Value> = estimates(cell).into_iter().map(figure).collect();
    let mut map = levels(cell);
    map.extend([("runs".to_owned(), json!(cell.runs.len())), ("figures".to_owned(), Value::Object(figures))]);
    Value::Object(map)
}

fn series(run: &Run) -> Value {
    let rows = run.series.rows.iter().map(|(at_s, values)| json!([at_s, values]));
    json!({
        "part": run.part, "levels": run.levels, "repeat": run.repeat, "columns": run.series.columns,
        "rows": rows.collect::<Vec<_>>(),
    })
}

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
