//! Every doubt by its cause, the gravest first; below, folded away, each in full.

use super::section;
use crate::caveats::{Doubt, Found, doubts, gather, numbers};
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_core::caveat::{Caveat, Severity};
use std::fmt::Write as _;

/// All caveats, by severity and cause.
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
    inner.push_str(&in_full(study));
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
        remedy => format!("<p class=\"remedy\"><span>What to do</span> {}</p>", with_flags(remedy)),
    };
    format!(
        "<li class=\"cause\"><h4>{} <small>{}</small></h4><p>{}{}.</p>{remedy}</li>\n",
        Text(&doubt.name),
        Text(&doubt.touches),
        Text(&place),
        Text(&doubt.seen)
    )
}

/// A text in which flags are not broken over lines.
fn with_flags(text: &str) -> String {
    let word = |word: &str| match word.contains("--") {
        true => format!("<span class=\"flag\">{}</span>", Text(word)),
        false => Text(word).to_string(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What the groups were made of.
fn in_full(study: &Study) -> String {
    let found = gather(&study.plan, &study.summary);
    if found.is_empty() {
        return String::new();
    }
    let items: String = found.iter().map(one).collect();
    format!(
        "<details class=\"plan\"><summary>Each in its own words ({})</summary><ul class=\"in-full\">{items}</ul></details>\n",
        found.len()
    )
}

fn one(found: &Found<'_>) -> String {
    let mut cells = String::new();
    if !found.cells.is_empty() {
        let _ = write!(cells, " <span class=\"where\">{}</span>", Text(&found.places()));
    }
    let Caveat { code, text, .. } = found.caveat;
    format!("<li>{}{cells} <code>{}</code>{}</li>\n", Text(text), Text(code), evidence(found.caveat))
}

/// The numbers behind a caveat, on a line of their own below it; nothing where none are kept.
pub fn evidence(caveat: &Caveat) -> String {
    match numbers(caveat) {
        none if none.is_empty() => none,
        numbers => format!("<br><small>{}</small>", Text(&numbers)),
    }
}
