//! What the whole is about: its sentences, and how far the study is.

use super::section;
use crate::caveats::{Doubt, doubts};
use crate::report::legend::{Study, Text};
use crate::study::comparison::Wording;
use crate::{failed, format};
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_study::store::format::HeadlineRecord;
use std::fmt::Write as _;

pub fn headline(study: &Study) -> String {
    let mut out =
        format!("<header class=\"head\">\n{}{}{}", chips(study), finding(study), verdicts(&study.verdicts));
    match study.summary.headlines.as_slice() {
        [] => out.push_str(&nothing_yet(study)),
        [one] => {
            let _ = write!(out, "<h1>{}</h1>\n{}", Text(&unbroken(&one.text)), others(one));
        }
        many => {
            let tag = if study.verdicts.is_empty() { "h1" } else { "p" };
            let (workloads, variants) = (study.workloads().join(", "), many.len());
            let what = "what each carries, and how far that can be trusted";
            let _ = writeln!(out, "<{tag}>{} in {variants} variants: {what}</{tag}>", Text(&workloads));
        }
    }
    let _ = writeln!(out, "<p class=\"setting\">{}</p>", Text(&setting(study)));
    if study.summary.headlines.len() > 1 {
        out.push_str(&variants(study));
    }
    out.push_str("</header>\n");
    out
}

/// What two levels or two studies come to: the first verdict is the title of its page.
pub fn verdicts(told: &[Wording]) -> String {
    let one = |(at, told): (usize, &Wording)| {
        let tag = if at == 0 { "h1" } else { "h2" };
        let item = |line: &String| format!("<li>{}</li>", Text(&unbroken(line)));
        let lines: String = told.lines.iter().map(item).collect();
        let lines = if lines.is_empty() { lines } else { format!("<ul class=\"notes\">{lines}</ul>\n") };
        format!("<{tag}>{}</{tag}>\n{lines}", Text(&unbroken(&told.head)))
    };
    told.iter().enumerate().map(one).collect()
}

/// What stands before all figures: that most requests failed, if they did.
fn finding(study: &Study) -> String {
    let found = failed::of_study(&study.plan, &study.summary, &study.runs);
    let words = |text: String| format!("<p class=\"finding\">Finding: {}.</p>\n", Text(&unbroken(&text)));
    found.map_or_else(String::new, words)
}

/// A sentence whose percent signs stay with their numbers.
pub fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

fn nothing_yet(study: &Study) -> String {
    let text = match study.runs.len() {
        0 => "Nothing has been measured yet.".to_owned(),
        runs => {
            format!(
                "{} finished; they do not show yet what this server carries.",
                format::counted(runs, "run")
            )
        }
    };
    format!("<h1>{}</h1>\n", Text(&text))
}

fn setting(study: &Study) -> String {
    let settings = &study.plan.settings;
    let mut parts = vec![study.workloads().join(", ")];
    let mut versions: Vec<&str> =
        study.manifest.servers.iter().map(|server| server.version.as_str()).collect();
    versions.dedup();
    if !versions.is_empty() {
        parts.push(format!("on {}", versions.join(", ")));
    }
    let cells = format::counted(study.plan.cells.len(), "cell");
    let length = format::seconds(settings.duration_s);
    parts.push(match settings.is_sequence() {
        true => format!("{cells}, {} of {length}", format::counted(study.runs.len(), "run")),
        false => format!("{cells} × {} of {length}", format::counted(settings.repeats as usize, "run")),
    });
    parts.push("poisson arrivals".to_owned());
    parts.push(format::date(study.plan.created_unix_s));
    parts.join("  ·  ")
}

fn chips(study: &Study) -> String {
    let summary = &study.summary;
    let runs = format!("{} of {} runs", summary.runs_done, summary.runs_planned);
    // Green is a result that can be used.
    let is_known = summary.headlines.iter().any(|headline| headline.bounds.is_something());
    let mut chips = vec![match (summary.complete, is_known) {
        (true, true) => ("good", format!("complete, {runs}")),
        (true, false) => ("doubt", format!("complete, {runs}")),
        (false, _) => ("doubt", format!("unfinished, {runs}")),
    }];
    if let Some(state) = failed::state(&study.plan, summary) {
        chips.push(("bad", state.to_owned()));
    }
    let chips: String = chips
        .into_iter()
        .map(|(class, text)| format!("<li class=\"chip {class}\">{}</li>", Text(&text)))
        .collect();
    format!("<ul class=\"chips\">{chips}</ul>\n")
}

/// The other headlines, p95 and the CPU cost, and how far all can be relied on.
fn others(headline: &HeadlineRecord) -> String {
    let line = |text: &String| format!("<p class=\"also\">{}.</p>\n", Text(&unbroken(text)));
    let said = [&headline.p95_text, &headline.cpu_text].into_iter().filter(|text| !text.is_empty());
    said.map(line).collect::<String>() + &trust_text(headline)
}

/// What can be relied on and what not, where anything is measured.
pub fn trust_text(headline: &HeadlineRecord) -> String {
    match headline.trust_text.as_str() {
        "" => String::new(),
        text => format!("<p class=\"trust\">{}.</p>\n", Text(&unbroken(text.trim_end_matches('.')))),
    }
}

fn variants(study: &Study) -> String {
    let variant = |headline: &HeadlineRecord| {
        format!(
            "<article class=\"variant s{}\"><h2>{}</h2><p>{}</p>\n{}</article>\n",
            study.look(headline.series.first().copied().unwrap_or(0)).hue,
            Text(&headline.label),
            Text(&unbroken(&headline.text)),
            others(headline)
        )
    };
    let class = if study.summary.headlines.len() <= 4 { "variants" } else { "variants many" };
    let articles: String = study.summary.headlines.iter().map(variant).collect();
    format!("<div class=\"{class}\">\n{articles}</div>\n")
}

pub fn caveats(study: &Study) -> String {
    section("caveats", "Caveats", "", &caveats_of(study))
}

pub fn caveats_of(study: &Study) -> String {
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
    inner
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
