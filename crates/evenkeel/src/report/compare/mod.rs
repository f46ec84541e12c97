//! Two studies over each other, as one page: the verdict, both headlines, their curves, and what differs in where and how they
//! were measured.

mod differences;

use super::legend::swatch;
use super::markup::Text;
use super::page::{banner, document, figure};
use super::plots;
use super::sections::{GUIDE, trust_text, unbroken, verdicts};
use super::study::Study;
use crate::failure::WithHint;
use crate::format;
use crate::study::comparison::{self, Wording};
use anyhow::{Result, anyhow};
use evenkeel_core::experiment::Margin;
use evenkeel_study::store::format::SeriesRecord;

/// A series of one study with that of the other.
struct Match {
    label: String,
    series: [usize; 2],
}

/// Two figures that lie so close are the same, as `evenkeel compare` takes it.
const MARGIN: f64 = 0.05;

/// The page of two studies.
///
/// # Errors
/// One has nothing measured, or no series of one is in the other.
pub fn compare(one: &Study, other: &Study) -> Result<String> {
    let both = [one, other];
    let [first, second] = both.map(|study| &study.plan.id);
    if let Some(empty) = both.into_iter().find(|study| study.summary.cells.is_empty()) {
        let name = &empty.plan.id;
        return Err(anyhow!("study {name} has no finished run to compare"))
            .hint(format!("continue it first: `evenkeel runs {name}` shows the command"));
    }
    let matches = matches(both)?;
    let mut body = head(both, verdict(one, other).as_ref());
    body.extend(matches.iter().enumerate().map(|(at, found)| part(both, found, at, matches.len())));
    body.push_str(&differences::section(both, &matches[0].series));
    let banner = banner("two studies:", &format!("{first} and {second}"));
    Ok(document(&format!("{first} and {second} · Evenkeel"), &banner, &body))
}

/// With one series each there is nothing to choose; otherwise those with the same label.
fn matches(studies: [&Study; 2]) -> Result<Vec<Match>> {
    let [one, other] = studies.map(|study| &study.plan.series);
    if let ([alone], [_]) = (one.as_slice(), other.as_slice()) {
        return Ok(vec![Match { label: alone.label.clone(), series: [0, 0] }]);
    }
    let pair = |(at, own): (usize, &SeriesRecord)| {
        let same = other.iter().position(|series| series.label == own.label)?;
        Some(Match { label: own.label.clone(), series: [at, same] })
    };
    let found: Vec<Match> = one.iter().enumerate().filter_map(pair).collect();
    if found.is_empty() {
        let [one, other] = [one, other]
            .map(|all| all.iter().map(|series| format!("{:?}", series.label)).collect::<Vec<_>>().join(", "));
        return Err(anyhow!("the studies have no series in common: one has {one}, the other {other}")).hint(
            "series match by their labels: measure both with the same workload, factors and sandboxes",
        );
    }
    Ok(found)
}

/// Of the second study; `None` where the two cannot be compared.
fn verdict(one: &Study, other: &Study) -> Option<Wording> {
    let margin = Margin::new(MARGIN).ok()?;
    let names = ["A", "B"];
    comparison::of_two([&one.side(), &other.side()], names, None, margin).ok().map(|(told, _)| told)
}

fn head(studies: [&Study; 2], verdict: Option<&Wording>) -> String {
    let title = match studies.map(Study::workloads) {
        [one, other] if one == other => format!("{} in two studies", one.join(", ")),
        [one, other] => format!("{} beside {}", one.join(", "), other.join(", ")),
    };
    let cards: String = (0..2).map(|side| card(studies[side], side)).collect();
    let tag = if verdict.is_some() { "p" } else { "h1" };
    format!(
        "<header class=\"head\">\n{}<{tag}>{}</{tag}>\n<div class=\"variants\">\n{cards}</div>\n</header>\n",
        verdict.map_or_else(String::new, |told| verdicts(std::slice::from_ref(told))),
        Text(&title)
    )
}

fn card(study: &Study, side: usize) -> String {
    let headlines = &study.summary.headlines;
    let sentence = |text: &str| format!("<p>{}</p>", Text(&unbroken(text)));
    let sentences: String = headlines
        .iter()
        .map(|headline| {
            let first = match headline.label.as_str() {
                "" => sentence(&headline.text),
                label => sentence(&format!("{label}: {}", headline.text)),
            };
            first + &trust_text(headline)
        })
        .collect();
    let untold = || "<p>The runs so far do not show what this server carries.</p>".to_owned();
    format!(
        "<article class=\"variant s{}\"><h2>{} {}: {}</h2>{}<p class=\"words\">{}, {} of {} runs</p></article>\n",
        plots::side_look(side).hue,
        swatch(plots::side_look(side)),
        plots::SIDES[side],
        Text(&study.plan.id),
        if sentences.is_empty() { untold() } else { sentences },
        Text(&format::date(study.plan.created_unix_s)),
        study.summary.runs_done,
        study.summary.runs_planned
    )
}

fn part(studies: [&Study; 2], found: &Match, at: usize, of: usize) -> String {
    let heading = if of > 1 { format!("<h2>{}</h2>\n", Text(&found.label)) } else { String::new() };
    let [wide, half @ ..] = plots::pair(studies, found.series, &at.to_string());
    let half: String = half.iter().map(|plot| figure(plot, "")).collect();
    // The words of the page once, below the first charts.
    let guide = if at == 0 { GUIDE } else { "" };
    let wide = figure(&wide, "");
    format!("<section id=\"pair-{at}\">{heading}{wide}<div class=\"grid\">\n{half}{guide}</div></section>\n")
}

#[cfg(test)]
mod tests;
