//! What the whole is about: the sentence, its figures, and how far the study is.

use crate::failed;
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use crate::study::comparison::Wording;
use evenkeel_core::caveat::threshold::NEIGHBOURS_MIN;
use evenkeel_core::digits::{between, ceiling, floor, nearest};
use evenkeel_study::store::format::{BoundsRecord, HeadlineRecord, RangeRecord};
use std::fmt::Write as _;

/// The head of the page.
pub fn headline(study: &Study<'_>) -> String {
    let mut out =
        format!("<header class=\"head\">\n{}{}{}", chips(study), finding(study), verdicts(study.verdicts));
    match study.summary.headlines.as_slice() {
        [] => out.push_str(&nothing_yet(study)),
        [one] => {
            let _ = write!(
                out,
                "<h1>{}</h1>\n{}{}{}",
                Text(&unbroken(&one.text)),
                others(one),
                trust_text(one),
                figures(one)
            );
        }
        many => {
            let tag = if study.verdicts.is_empty() { "h1" } else { "p" };
            let _ = writeln!(out, "<{tag}>{}</{tag}>", Text(&title_of_several(study, many.len())));
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
fn finding(study: &Study<'_>) -> String {
    let found = failed::of_study(study.plan, study.summary, study.runs);
    let words = |text: String| format!("<p class=\"finding\">Finding: {}.</p>\n", Text(&unbroken(&text)));
    found.map_or_else(String::new, words)
}

/// A sentence whose percent signs stay with their numbers.
fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

fn nothing_yet(study: &Study<'_>) -> String {
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

fn title_of_several(study: &Study<'_>, variants: usize) -> String {
    format!(
        "{} in {variants} variants: what each carries, and how far that can be trusted",
        study.workloads().join(", ")
    )
}

/// What was done, in a line.
fn setting(study: &Study<'_>) -> String {
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
    parts.push(format!("{} arrivals", settings.arrivals));
    parts.push(format::date(study.plan.created_unix_s));
    parts.join("  ·  ")
}

fn chips(study: &Study<'_>) -> String {
    let summary = study.summary;
    let runs = format!("{} of {} runs", summary.runs_done, summary.runs_planned);
    let mut chips = vec![if summary.complete {
        ("good", format!("complete, {runs}"))
    } else {
        ("doubt", format!("unfinished, {runs}"))
    }];
    if let Some(state) = failed::state(study.plan, summary) {
        chips.push(("bad", state.to_owned()));
    }
    let chips: String = chips
        .into_iter()
        .map(|(class, text)| format!("<li class=\"chip {class}\">{}</li>", Text(&text)))
        .collect();
    format!("<ul class=\"chips\">{chips}</ul>\n")
}

/// The other headlines: p95 and the CPU cost.
fn others(headline: &HeadlineRecord) -> String {
    let line = |text: &String| format!("<p class=\"also\">{}.</p>\n", Text(&unbroken(text)));
    [&headline.p95_text, &headline.cpu_text].into_iter().filter(|text| !text.is_empty()).map(line).collect()
}

/// What can be relied on and what not, where anything is measured.
pub fn trust_text(headline: &HeadlineRecord) -> String {
    match headline.trust_text.as_str() {
        "" => String::new(),
        text => format!("<p class=\"trust\">{}.</p>\n", Text(&unbroken(text.trim_end_matches('.')))),
    }
}

/// Tiles of what is known.
fn figures(headline: &HeadlineRecord) -> String {
    let limit = if headline.trust_ended { "trusted up to" } else { "trusted at least to" };
    let limit =
        there(limit, headline.trust_theta_percent.map(format::percent), "CPU use of the server".to_owned());
    let tiles = bounds(&headline.bounds).into_iter().chain([limit]).flatten();
    let figures: String = tiles.map(|(name, value, words)| tile(&name, &value, &words)).collect();
    if figures.is_empty() { figures } else { format!("<dl class=\"figures\">\n{figures}</dl>\n") }
}

/// Name, value and words of a tile; `None` without a value.
type Tile = Option<(String, String, String)>;

fn there(name: &str, value: Option<String>, words: String) -> Tile {
    value.map(|value| (name.to_owned(), value, words))
}

/// What the sentence says, one by one.
fn bounds(bounds: &BoundsRecord) -> Vec<Tile> {
    let carries = match (bounds.at_least_per_s, bounds.at_most_per_s) {
        (Some(least), Some(most)) => Some(between(least, most) + " /s"),
        (Some(least), None) => Some(format!("≥ {} /s", floor(least))),
        (None, Some(most)) => Some(format!("≤ {} /s", ceiling(most))),
        (None, None) => None,
    };
    let apart = |range: RangeRecord| between(range.low, range.high);
    let cpu = bounds.cpu.as_ref();
    let ends = cpu.and_then(|work| work.ends_at_per_s);
    let ends = ends.map_or_else(String::new, |range| {
        format!("; all CPU that it may use is used at {} /s", apart(range))
    });
    let taken = match bounds.taken_percent {
        Some(taken) if taken < NEIGHBOURS_MIN => {
            "requests; neighbours took less than 1 % of its CPUs".to_owned()
        }
        Some(taken) => format!("requests; neighbours took {} of its CPUs", format::percent(taken)),
        None => "requests".to_owned(),
    };
    // Of the time at saturation, what part of it says what would be carried without neighbours.
    let from = bounds.by_itself_coverage_percent.filter(|_| bounds.by_itself_from == "clear-stretches");
    let taken = match from {
        Some(percent) => {
            format!("{taken}; from the {} of overload in which they took little", format::percent(percent))
        }
        None => taken,
    };
    let p95_at = format!("p95 at {} /s", bounds.p95_at_per_s.map_or_else(String::new, nearest));
    vec![
        there(
            "carries",
            carries,
            format!("requests, at least and at most, over {} runs (95 %)", bounds.runs),
        ),
        there(
            &p95_at,
            bounds.p95_below_ms.map(|below| format!("< {} ms", ceiling(below))),
            "95 of 100 requests are faster".to_owned(),
        ),
        there("without neighbours", bounds.by_itself_per_s.map(|range| apart(range) + " /s"), taken),
        there(
            "one request takes",
            cpu.and_then(|work| work.range).map(|range| apart(range) + " ms"),
            format!("of CPU time{ends}"),
        ),
    ]
}

fn tile(name: &str, value: &str, words: &str) -> String {
    format!(
        "<div><dt>{}</dt><dd class=\"figure\">{}</dd><dd class=\"words\">{}</dd></div>\n",
        Text(name),
        Text(value),
        Text(words)
    )
}

/// Sentences side by side; a few have room for their figures too.
fn variants(study: &Study<'_>) -> String {
    let few = study.summary.headlines.len() <= 4;
    let articles: String =
        study.summary.headlines.iter().map(|headline| variant(study, headline, few)).collect();
    let class = if few { "variants" } else { "variants many" };
    format!("<div class=\"{class}\">\n{articles}</div>\n")
}

fn variant(study: &Study<'_>, headline: &HeadlineRecord, with_figures: bool) -> String {
    let hue = study.look(headline.series.first().copied().unwrap_or(0)).hue;
    let figures = if with_figures { figures(headline) } else { String::new() };
    format!(
        "<article class=\"variant s{hue}\"><h2>{}</h2><p>{}</p>\n{}{}{figures}</article>\n",
        Text(&headline.label),
        Text(&unbroken(&headline.text)),
        others(headline),
        trust_text(headline)
    )
}
