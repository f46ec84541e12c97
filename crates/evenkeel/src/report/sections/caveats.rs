//! Every doubt, the gravest first, each said once with the cells it is about.

use super::section;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_lab::store::format::CaveatRecord;
use std::fmt::Write as _;

/// Severities in the order of gravity: name in the records, heading, what it means.
const SEVERITIES: [(&str, &str, &str); 3] = [
    ("invalid", "Not valid", "these measurements must not be used"),
    ("doubt", "Doubts", "know these before you rely on the figures"),
    ("note", "Notes", "what the figures mean"),
];

/// A caveat and where it holds.
struct Found<'a> {
    caveat: &'a CaveatRecord,
    /// Cells; empty for the whole.
    cells: Vec<String>,
}

/// All caveats by severity.
pub fn caveats(study: &Study<'_>) -> String {
    let found = gather(study);
    let mut inner = String::new();
    for (name, heading, meaning) in SEVERITIES {
        let of_severity = found.iter().filter(|found| severity(found.caveat) == name);
        let items: String = of_severity.map(item).collect();
        if !items.is_empty() {
            let class = if name == "invalid" { "bad" } else { name };
            let _ = writeln!(
                inner,
                "<div class=\"caveats {class}\"><h3>{heading} <small>{meaning}</small></h3><ul>{items}</ul></div>"
            );
        }
    }
    if inner.is_empty() {
        inner = format!("<p>{}</p>\n", if study.runs.is_empty() { "None yet." } else { "None." });
    }
    section("caveats", "Caveats", "", &inner)
}

/// A severity that this version does not know is shown as a doubt rather than lost.
fn severity(caveat: &CaveatRecord) -> &str {
    let known = SEVERITIES.iter().any(|(name, ..)| *name == caveat.severity);
    if known { &caveat.severity } else { "doubt" }
}

fn gather<'a>(study: &Study<'a>) -> Vec<Found<'a>> {
    let mut all: Vec<Found<'a>> =
        study.summary.caveats.iter().map(|caveat| Found { caveat, cells: Vec::new() }).collect();
    for cell in &study.summary.cells {
        for caveat in &cell.caveats {
            let name = study.cell_name(cell);
            match all.iter_mut().find(|found| found.caveat == caveat && !found.cells.is_empty()) {
                Some(found) => found.cells.push(name),
                None => all.push(Found { caveat, cells: vec![name] }),
            }
        }
    }
    all
}

fn item(found: &Found<'_>) -> String {
    let mut cells = String::new();
    if !found.cells.is_empty() {
        let _ = write!(cells, " <span class=\"where\">{}</span>", Text(&found.cells.join("; ")));
    }
    format!("<li>{}{cells} <code>{}</code></li>\n", Text(&found.caveat.text), Text(&found.caveat.code))
}
