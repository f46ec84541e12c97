//! Every doubt by its cause, the gravest first.

use super::section;
use crate::caveats::{Doubt, doubts};
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_core::caveat::{Caveat, Severity};
use std::fmt::Write as _;

pub fn caveats(study: &Study) -> String {
    let doubts = doubts(&study.plan, &study.summary, &study.runs);
    let mut inner = String::new();
    for severity in Severity::GRAVEST_FIRST {
        let of_severity = doubts.iter().filter(|doubt| doubt.severity == severity);
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

fn item(doubt: &Doubt) -> String {
    let place =
        if doubt.worst_at.is_empty() { String::new() } else { format!("Worst at {}: ", doubt.worst_at) };
    let remedy = match doubt.remedy.as_str() {
        "" => String::new(),
        remedy => format!("<p class=\"remedy\"><span>What to do</span> {}</p>", Text(remedy)),
    };
    format!(
        "<li class=\"cause\"><h4>{} <small>{}</small></h4><p>{}{}.</p>{remedy}</li>\n",
        Text(&doubt.name),
        Text(&doubt.touches),
        Text(&place),
        Text(&doubt.seen)
    )
}

/// The numbers behind a caveat, on a line of their own below it; nothing where none are kept.
pub fn evidence(caveat: &Caveat) -> String {
    if caveat.evidence.is_empty() {
        return String::new();
    }
    let number = |(name, value): (&String, &f64)| format!("{name} {}", format::short(*value));
    let numbers: Vec<String> = caveat.evidence.iter().map(number).collect();
    format!("<br><small>{}</small>", Text(&numbers.join(", ")))
}
