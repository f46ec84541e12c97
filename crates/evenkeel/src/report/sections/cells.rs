//! The table of cells: every figure of every chart.

use super::{field, head, section, table};
use crate::columns::{Column, OPEN, columns};
use crate::format;
use crate::report::legend::{Study, Text, swatch};
use crate::table::{HEAVY_PERCENT, by_share};
use evenkeel_study::store::format::{CellSummary, Severity, StatementPlanRecord};
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

/// Statements, the heaviest first; nothing where no plan was stored.
pub fn plans(study: &Study) -> String {
    let plans = by_share(&study.manifest.plans);
    if plans.is_empty() {
        return String::new();
    }
    let several = plans.len() > 1;
    let items: String = plans.into_iter().map(|plan| item(plan, several)).collect();
    let words = "Simple statements find their rows by an index, complex ones scan, sort or build temporary tables, writes change rows. \
                 The heavy hitters decide whether an objective is met.";
    section("plans", "Statements", words, &items)
}

fn item(plan: &StatementPlanRecord, several: bool) -> String {
    let share = plan.work_share_percent.filter(|share| share.is_finite());
    let mut marks = format!("<span class=\"chip\">{}</span>", Text(plan.class.word()));
    if let Some(share) = share.filter(|_| several) {
        let heavy = if share >= HEAVY_PERCENT { "heavy hitter, " } else { "" };
        let class = if share >= HEAVY_PERCENT { "chip doubt" } else { "chip" };
        marks.push_str(&format!(
            "<span class=\"{class}\">{heavy}{} of the work</span>",
            format::percent(share)
        ));
    }
    format!(
        "<details class=\"plan\"{}><summary><b>{}</b> {marks} <span class=\"words\">{}</span></summary>\
         <pre>{}</pre><pre>{}</pre></details>\n",
        if several { "" } else { " open" },
        Text(&plan.statement),
        Text(&plan.reason),
        Text(plan.sql.trim()),
        Text(plan.plan.trim_end())
    )
}
