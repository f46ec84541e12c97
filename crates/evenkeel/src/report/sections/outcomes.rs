//! What became of the arrivals: the four ends add up.

use super::{head, row as named, section, table};
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_study::store::format::{CellSummary, CountsRecord};
use std::collections::BTreeMap;

/// Table of outcomes, then errors with one text each.
pub fn outcomes(study: &Study) -> String {
    if study.summary.cells.is_empty() {
        return String::new();
    }
    let names = ["cell", "arrivals", "completed", "failed", "timed out", "unsent"];
    let head = names.map(|name| head(name, "")).concat();
    let rows: String = study.cells().into_iter().map(|cell| row(study, cell)).collect();
    let table = table("Outcomes, all runs of a cell added up", &head, &format!("<tbody>\n{rows}</tbody>"));
    let words = "Every arrival ends as completed, failed, timed out or unsent; the four add up.";
    section("outcomes", "Outcomes", words, &format!("{table}{}", errors(study)))
}

fn row(study: &Study, cell: &CellSummary) -> String {
    let CountsRecord { arrivals, completed, failed, timed_out, unsent } = &cell.counts;
    let number = |value: u64| format!("<td>{}</td>", format::count(value));
    let loss = |value: u64| {
        let class = if value > 0 { "doubt" } else { "none" };
        format!("<td><span class=\"{class}\">{}</span></td>", format::count(value))
    };
    let (sent, lost) = ([*arrivals, *completed], [failed.values().sum(), *timed_out, *unsent]);
    named(&study.cell_name(cell), &(sent.map(number).concat() + &lost.map(loss).concat()))
}

fn errors(study: &Study) -> String {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for (code, count) in study.summary.cells.iter().flat_map(|cell| &cell.counts.failed) {
        *counts.entry(*code).or_default() += count;
    }
    let text_of = |code: &u16| study.runs.iter().find_map(|run| run.error_texts.get(code));
    let items: String = counts
        .iter()
        .map(|(code, count)| {
            let text = text_of(code).map_or_else(String::new, |text| format!(": {}", Text(text)));
            format!("<li>error {code}, {} times{text}</li>\n", format::count(*count))
        })
        .collect();
    if items.is_empty() { items } else { format!("<ul class=\"errors\">{items}</ul>\n") }
}
