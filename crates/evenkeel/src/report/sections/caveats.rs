//! Every doubt, the gravest first.

use super::section;
use crate::caveats::{Found, Severity, gather};
use crate::report::markup::Text;
use crate::report::study::Study;
use std::fmt::Write as _;

/// All caveats by severity.
pub fn caveats(study: &Study<'_>) -> String {
    let found = gather(study.plan, study.summary);
    let mut inner = String::new();
    for severity in Severity::ALL {
        let of_severity = found.iter().filter(|found| Severity::of(found.caveat) == severity);
        let items: String = of_severity.map(item).collect();
        if !items.is_empty() {
            let (class, heading, meaning) = words(severity);
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

/// Class of the style sheet, heading, and what it means for the reader.
fn words(severity: Severity) -> (&'static str, &'static str, &'static str) {
    match severity {
        Severity::Invalid => ("bad", "Not valid", "these measurements must not be used"),
        Severity::Doubt => ("doubt", "Doubts", "know these before you rely on the figures"),
        Severity::Note => ("note", "Notes", "what the figures mean"),
    }
}

fn item(found: &Found<'_>) -> String {
    let mut cells = String::new();
    if !found.cells.is_empty() {
        let _ = write!(cells, " <span class=\"where\">{}</span>", Text(&found.places()));
    }
    format!("<li>{}{cells} <code>{}</code></li>\n", Text(&found.caveat.text), Text(&found.caveat.code))
}
