//! The table of cells: every figure of every chart.

use super::{field, head, section, table};
use crate::columns::{Column, OPEN, columns};
use crate::format;
use crate::report::legend::swatch;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_study::store::format::{CellSummary, Severity};
use std::fmt::Write as _;

/// The table, or a sentence where no cell has runs.
pub fn cells(study: &Study) -> String {
    let inner = if study.summary.cells.is_empty() {
        "<p>No cell has a finished run yet.</p>\n".to_owned()
    } else {
        let columns = columns(&study.summary.cells);
        let head: String = columns.iter().map(|column| head(column.word, column.unit)).collect();
        let head = format!("{head}<th scope=\"col\" class=\"state\">state</th>");
        table("Cells, means over runs", &head, &body(study, &columns))
    };
    let words = format!(
        "Means over runs ± half of the 95 % interval. ≥ marks rates at which requests timed out or were \
         never sent, and count with the age they reached. ?: {OPEN}."
    );
    let told = format::parts(&study.runs);
    let told: String = told.iter().map(|line| format!("<p class=\"words\">{}.</p>\n", Text(line))).collect();
    section("cells", "Cells", &words, &(inner + &told))
}

fn body(study: &Study, columns: &[Column]) -> String {
    let mut out = String::new();
    for (index, series) in study.plan.series.iter().enumerate() {
        let cells = study.cells_of(index);
        if cells.is_empty() {
            continue;
        }
        out.push_str("<tbody>\n");
        if study.has_several() {
            let _ = writeln!(
                out,
                "<tr class=\"series\"><th scope=\"rowgroup\" colspan=\"{}\">{} {}</th></tr>",
                columns.len() + 1,
                swatch(study.look(index)),
                Text(&series.label)
            );
        }
        cells.iter().for_each(|cell| out.push_str(&row(cell, columns)));
        out.push_str("</tbody>\n");
    }
    out
}

fn row(cell: &CellSummary, columns: &[Column]) -> String {
    let values: String = columns.iter().map(|column| field(&(column.text)(cell))).collect();
    format!("<tr>{values}<td class=\"state\">{}</td></tr>\n", state(cell))
}

fn state(cell: &CellSummary) -> String {
    let (severity, word) = crate::caveats::state(cell);
    let class = match severity {
        Severity::Note => "good",
        Severity::Doubt => "doubt",
        Severity::Invalid => "bad",
    };
    format!("<span class=\"{class}\">{}</span>", Text(word))
}
